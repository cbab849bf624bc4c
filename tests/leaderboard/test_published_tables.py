"""Published tables: all there, every column named, every printed average recomputed."""

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.leaderboard.published import published_index, published_table
from harness.leaderboard.published_averages import Check, checks
from harness.leaderboard.published_tables import (
    find_published,
    published_frame,
    published_list,
    published_text_tables,
)
from harness.leaderboard.text_tables import TextTable, render_text_tables

NAMES = [str(name) for name in published_index().index]
SCORES = [name for name in NAMES if published_index().at[name, "kind"] == "scores"]
EXCEPTIONS = {
    ("glue_test_bert", "BiLSTM+ELMo+Attn"),
    ("t5_sizes_glue", "Previous best"),
    ("sts_spearman", "SBERT-NLI-base"),
}
"""Printed averages that their rule does not give; every other one must come out."""


def call(*arguments):
    result = CliRunner().invoke(app, ["leaderboard", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", SCORES)
def test_every_printed_average_is_reproduced_or_marked_with_its_reason(name):
    """Within half of the last printed digit, for 0.05 of one decimal."""
    for check in checks(name):
        assert check.reproduced == ((name, check.system) not in EXCEPTIONS), check
        assert bool(check.why) != check.reproduced, check


def test_every_average_with_a_rule_is_checked():
    found = {name: len(checks(name)) for name in NAMES}
    assert {name: count for name, count in found.items() if count} == {
        "glue_test_bert": 5,
        "t5_sizes_glue": 6,
        "electra_flops": 7,
        "superglue_leaderboard": 20,
        "sts_spearman": 9,
    }


def test_averages_without_their_parts_say_so():
    for name in ("t5_architecture_objective", "t5_repeats"):
        notes = " ".join(published_text_tables(name)[0].notes)
        assert "glue (average): the parts of this average are not shown." in notes
    averages = [
        (name, task)
        for name in SCORES
        for task in published_table(name).query("metric == 'average'")["task"].unique()
    ]
    for name, task in averages:
        assert f"{task} (average)" in " ".join(published_text_tables(name)[0].notes)


def test_reproduced_is_within_half_of_the_last_printed_digit():
    assert Check("a", "rule", "84.0", 84.05).reproduced
    assert not Check("a", "rule", "84.0", 84.06).reproduced
    assert not Check("a", "rule", "74.89", 74.86).reproduced
    assert Check("a", "rule", "74.89", 74.8949).reproduced


@pytest.mark.parametrize("name", NAMES)
def test_every_column_is_named_with_its_unit_and_every_score_with_its_split(name):
    table, columns = published_text_tables(name)
    described = {row[0]: row for row in columns.rows}
    head = set(table.head) - {"system", "recomputed", "reproduced"}
    assert head <= set(described)
    for column, what, unit, split in columns.rows:
        assert what and unit, column
        assert split or name not in SCORES or "(" not in column, column
    assert any(note.startswith("Source: ") for note in table.notes)
    assert name not in SCORES or any(note.startswith("Protocol: ") for note in table.notes)


def test_cells_stand_as_they_are_printed():
    table, _ = published_text_tables("glue_test_bert")
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    assert rows["Pre-OpenAI SOTA"]["stsb (Spearman)"] == "81.0"
    assert rows["BERT_LARGE"]["average (bert_table1)"] == "82.1"
    assert rows["BERT_LARGE"]["recomputed"] == "82.08"
    assert rows["BiLSTM+ELMo+Attn"]["reproduced"] == "no"
    swag, _ = published_text_tables("swag")
    assert dict(zip(swag.head, swag.rows[2], strict=True))["swag validation (acc)"] == "–"
    dapt, _ = published_text_tables("dapt_downstream")
    assert dict(zip(dapt.head, dapt.rows[1], strict=True))["hyp (macro F1)"] == "88.2 ± 5.9"


def test_attributes_of_tasks_are_shown_with_their_columns():
    table, columns = published_text_tables("dapt_corpora")
    assert [row[0] for row in table.rows] == ["RoBERTa", "DAPT"]
    (news,) = [row for row in columns.rows if row[0].startswith("news")]
    assert "tokens 6.66B; size 39GB" in news[1]


def test_the_frame_has_everything_in_every_row():
    frame = published_frame("electra_flops")
    assert set(frame["unit"]) == {"percent", "score x 100"}
    assert frame["source"].nunique() == frame["protocol"].nunique() == 1
    averages = frame[frame["task"] == "average"]
    assert (averages["recomputed"] - averages["value"]).abs().max() <= 0.05 + 1e-9
    assert frame[frame["task"] != "average"]["recomputed"].isna().all()
    assert "source" in published_frame("glue_train_sizes")


def test_the_frame_marks_what_is_not_reproduced_and_keeps_the_printed_digits():
    frame = published_frame("sts_spearman").set_index(["system", "task"])
    assert frame.at[("SBERT-NLI-base", "average"), "reproduced"] == "no"
    assert frame.at[("SBERT-NLI-base", "average"), "why"].startswith("the paper itself")
    assert frame.at[("SBERT-NLI-large", "average"), "reproduced"] == "yes"
    assert frame.at[("SBERT-NLI-large", "sts12"), "reproduced"] == ""
    assert frame.at[("Avg. BERT embeddings", "sickr"), "printed"] == "58.40"
    assert frame["checked"].unique().tolist() == ["the printed averages of 8 of 9 rows by the rule"]


def test_units_and_reasons_to_stand_apart_are_noted():
    notes = " ".join(published_text_tables("t5_architecture_objective")[0].notes)
    assert "Unit: percent; ROUGE-2 for CNN/DM, EM for SQuAD, BLEU for WMT (usual reading)." in notes
    notes = " ".join(published_text_tables("bart_summarization")[0].notes)
    assert "Not comparable with measured rows: Another scorer" in notes


def test_small_print_ends_with_the_notes():
    latex = render_text_tables([TextTable(["b"], [["c"]], title="a", notes=["d"])], "latex")
    assert latex.endswith("\\par{\\footnotesize\nd\\par\n}\n")


def test_tables_are_found_by_their_words():
    assert find_published("bert-glue") == "glue_test_bert"
    assert find_published("glue_test_bert") == "glue_test_bert"
    assert find_published("superglue") == "superglue_leaderboard"
    with pytest.raises(ValueError, match="matches several published tables: t5_"):
        find_published("t5")
    with pytest.raises(ValueError, match="unknown published table 'bort'; known: glue_test_bert"):
        find_published("bort")


def test_the_command_lists_and_prints():
    code, listed = call("--published")
    assert code == 0
    assert all(f"| {name} |" in listed for name in NAMES)
    for format, part in (
        ("md", "| BERT_LARGE | 86.7 |"),
        ("csv", 'BERT_LARGE,rte,test,accuracy,70.1,percent,,"GLUE'),
        ("html", '<th scope="row" class="text">BERT_LARGE</th><td>86.7</td>'),
        ("latex", r"BERT\_LARGE & 86.7"),
    ):
        code, text = call("--published", "bert-glue", "--format", format)
        assert code == 0
        assert part in text, format
    assert call("--published", "t5")[0] == 2
    code, text = call()
    assert code == 2
    assert "give an experiment file, a board" in text


@pytest.mark.parametrize("format", ["md", "csv", "html", "latex"])
def test_every_table_can_be_written_in_every_form(format):
    for name in NAMES:
        assert render_text_tables(published_text_tables(name), format)
    assert render_text_tables([published_list()], format).count("glue_test_bert".replace(
        "_", r"\_" if format == "latex" else "_")) == 1  # fmt: skip


def test_hostile_text_stays_text():
    evil = "<script>|*x*_&$"
    sheet = TextTable([evil], [[evil]], title=f"{evil}\n\\end{{tabular}}", notes=[evil])
    assert "<script" not in render_text_tables([sheet], "html")
    assert r"\<script>\|\*x\*" in render_text_tables([sheet], "md")
    latex = render_text_tables([sheet], "latex").splitlines()
    assert [line for line in latex if "end{tabular}" in line and line[0] != "%"] == [
        r"\end{tabular}"
    ]
    with pytest.raises(ValueError, match="unknown format 'pdf'"):
        render_text_tables([sheet], "pdf")
