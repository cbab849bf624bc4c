"""Tables by hand, and their output formats."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from harness.analysis.columns import suite_columns
from harness.leaderboard.build import build
from harness.leaderboard.column_labels import METRIC_LABELS
from harness.leaderboard.markdown import markdown_escape
from harness.leaderboard.published import (
    Board,
    board_names,
    board_of_suite,
    leaderboards_folder,
    load_board,
    published_index,
    published_table,
)
from harness.leaderboard.quantity_columns import QuantityColumn
from harness.leaderboard.ranked import tied
from harness.leaderboard.render import render
from harness.leaderboard.table import protocol_line
from harness.tasks import SUITES, TASKS
from harness.tasks.metrics import METRICS
from harness.tasks.task import Column

GLUE = SUITES["glue-v1"]
PART = ("sst2", "rte")
GLUE_PART = suite_columns(GLUE, tasks=PART)
OWN_SEEDS = ((0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5))


def results(scores, suite="glue-v1", experiment="study"):
    """Rows from {(arm, task, split, metric): {(pretrain_seed, finetune_seed): value}}."""
    rows = [
        (experiment, arm, suite, task, split, metric, value, *seeds, f"{arm}-{task}-{seeds}")
        for (arm, task, split, metric), values in scores.items()
        for seeds, value in values.items()
    ]
    names = "experiment arm suite task split metric value pretrain_seed finetune_seed key"
    return pd.DataFrame(rows, columns=names.split())


def whole_suite(arms, seeds=((0, 0), (0, 1), (1, 0), (1, 1))):
    """Every score of glue-v1, for {arm: value}; seeds move it a little."""
    return results(
        {
            (arm, task, split.name, metric): {s: value + 0.01 * s[0] + 0.001 * s[1] for s in seeds}
            for arm, value in arms.items()
            for task in GLUE.tasks
            for split in TASKS[task].evaluation
            for metric in TASKS[task].metrics
        }
    )


# Tables.


def test_means_and_spreads_by_hand():
    """Columns: mean over pretraining seeds of means, spread of runs; average: spread of seeds."""
    runs = {(0, 0): 0.80, (0, 1): 0.90, (1, 0): 0.60, (1, 1): 0.70}
    scores = {("bert", task, "validation", "accuracy"): runs for task in PART}
    row = build(results(scores), "glue-v1", tasks=PART).rows[0]
    assert row.scores[0].mean == pytest.approx(75.0)
    assert row.scores[0].sd == pytest.approx(np.std([80, 90, 60, 70], ddof=1))
    assert row.average.mean == pytest.approx(75.0)
    assert row.average.sd == pytest.approx(np.std([85, 65], ddof=1))
    assert (row.rank, row.seeds) == (1, "2 x 2")


def test_pretraining_seeds_count_the_same_whatever_their_runs():
    runs = {(0, 0): 1.0, (1, 0): 0.0, (1, 1): 0.0, (1, 2): 0.0}
    scores = {("bert", task, "validation", "accuracy"): runs for task in PART}
    assert build(results(scores), "glue-v1", tasks=PART).rows[0].average.mean == pytest.approx(50)


@pytest.mark.parametrize(
    "runs",
    [
        {(0, 0): 0.9, (0, 1): np.nan, (1, 0): 0.8, (1, 1): 0.8},  # one of a seed's runs
        {(0, 0): 0.9, (1, 0): 0.8, (2, 0): np.nan},  # a seed
    ],
)
def test_an_undefined_run_leaves_its_cell_and_average_empty(runs):
    """The mean of the others would favour the arm."""
    known = dict.fromkeys(runs, 0.7)
    scores = {
        ("bert", task, "validation", "accuracy"): of
        for task, of in zip(PART, (runs, known), strict=True)
    }
    row = build(results(scores), "glue-v1", tasks=PART).rows[0]
    shown = {column.name: row.scores[i] for i, column in enumerate(GLUE_PART.columns)}
    assert shown["sst2"] is None and shown["rte"].mean == pytest.approx(70)
    assert (row.average, row.rank) == (None, None)


def test_an_average_is_that_of_the_cells_of_its_row():
    """A seed is missing on RTE: its SST-2 counts in the cell, but not in the spread of averages."""
    scores = {
        ("bert", "sst2", "validation", "accuracy"): {(0, 0): 0.9, (1, 0): 0.8, (2, 0): 0.4},
        ("bert", "rte", "validation", "accuracy"): {(0, 0): 0.5, (1, 0): 0.7},
    }
    row = build(results(scores), "glue-v1", tasks=PART).rows[0]
    assert row.average.mean == pytest.approx((70 + 60) / 2)
    assert row.average.sd == pytest.approx(np.std([70, 75], ddof=1))
    assert (row.average.seeds, sorted(one.seeds for one in row.scores)) == (2, [2, 3])


def test_the_fine_tuning_seeds_are_the_most_of_a_pretraining_seed_and_task():
    """Each pretraining seed has seeds of its own; two on SST-2, and one or two on RTE."""
    scores = {
        ("bert", "sst2", "validation", "accuracy"): dict.fromkeys(OWN_SEEDS, 0.5),
        ("bert", "rte", "validation", "accuracy"): dict.fromkeys(OWN_SEEDS[:-1], 0.5),
    }
    assert build(results(scores), "glue-v1", tasks=PART).rows[0].seeds == "3 x 2"


def test_a_table_of_some_tasks_counts_their_seeds_alone():
    scores = {
        ("bert", "sst2", "validation", "accuracy"): dict.fromkeys(OWN_SEEDS, 0.5),
        ("bert", "rte", "validation", "accuracy"): {(0, 0): 0.5, (1, 0): 0.5},
    }
    row = build(results(scores), "glue-v1", tasks=("rte",)).rows[0]
    assert (row.seeds, row.average.seeds) == ("2 x 1", 2)


def test_a_missing_cell_is_null_and_so_is_its_average_and_rank():
    complete = whole_suite({"good": 0.9, "poor": 0.1})
    gap = complete[~((complete["arm"] == "good") & (complete["task"] == "rte"))]
    table = build(gap, GLUE, arms=["good", "poor", "never_ran"])
    rows = {row.name: row for row in table.rows}
    assert [row.name for row in table.rows] == ["poor", "good", "never_ran"]
    assert (rows["poor"].rank, rows["good"].rank, rows["never_ran"].rank) == (1, None, None)
    assert rows["good"].average is None
    assert rows["good"].scores[[c.name for c in GLUE.columns].index("rte")] is None
    assert set(rows["never_ran"].scores) == {None}


def test_a_missing_metric_of_two_is_a_missing_cell():
    frame = whole_suite({"bert": 0.5})
    frame = frame[~((frame["task"] == "mrpc") & (frame["metric"] == "accuracy"))]
    assert build(frame, GLUE, "bert_table1").rows[0].average is not None
    assert build(frame, GLUE, "glue_server9").rows[0].average is None


def test_equal_averages_share_a_rank():
    table = build(whole_suite({"a": 0.5, "b": 0.7, "c": 0.7}), GLUE)
    assert [(row.rank, row.name) for row in table.rows] == [(1, "b"), (1, "c"), (3, "a")]


def test_averages_that_are_equal_but_for_rounding_share_a_rank():
    """The mean of the same scores in another order may be another number."""
    orders = {"a": (0.555, 0.672, 0.897), "b": (0.897, 0.555, 0.672), "c": (0.672, 0.897, 0.555)}
    scores = {
        (arm, task, "validation", "accuracy"): {(seed, 0): value for seed, value in enumerate(of)}
        for arm, of in orders.items()
        for task in PART
    }
    table = build(results(scores), GLUE, tasks=PART)
    assert len({row.average.mean for row in table.rows}) > 1  # else nothing is tested
    assert [(row.rank, row.name) for row in table.rows] == [(1, "a"), (1, "b"), (1, "c")]


def test_one_pretraining_seed_has_no_rank():
    several = whole_suite({"a": 0.5, "c": 0.9})
    one = whole_suite({"b": 0.7}, seeds=((0, 0), (0, 1)))
    table = build(pd.concat([several, one]), GLUE)
    assert [(row.rank, row.name) for row in table.rows] == [(1, "c"), (None, "b"), (2, "a")]
    assert table.ranking.startswith("Rows with one pretraining seed have no rank.")


def test_deterministic_baselines_show_neither_seeds_nor_spread():
    seeds = [(0, 0), (1, 0), (2, 0)]
    values = {"majority": [0.7, 0.7, 0.7], "bag": [0.7, 0.7, 0.7001], "bert": [0.9, 0.9, 0.9]}
    frame = results(
        {
            (arm, task, "validation", "accuracy"): dict(zip(seeds, of, strict=True))
            for arm, of in values.items()
            for task in PART
        }
    )
    table = build(frame, GLUE, tasks=PART, baselines={"majority", "bag"})
    assert {row.name: row.seeds for row in table.rows} == {
        "bert": "3 x 1",
        "bag": "3 x 1",  # its runs differ, so that they are shown
        "majority": "deterministic",
    }
    for format in ("md", "html", "latex"):
        text = render(table, format)
        (line,) = [line for line in text.splitlines() if "majority" in line]
        assert "70.0" in line and "deterministic" in line, format
        assert not {"±", "pm", "3 x 1"} & set(re.findall(r"±|pm|3 x 1", line)), format
        assert "use no random seeds" in text
    row = {row["arm"]: row for row in csv.DictReader(io.StringIO(render(table, "csv")))}["majority"]
    assert (row["average"], row["average sd"], row["pretrain_seeds"]) == ("70.0000", "", "")
    shown = table.to_frame().set_index("arm")
    assert np.isnan(shown.loc["majority", ["average_sd", "pretrain_seeds"]].astype(float)).all()
    assert "random seeds" not in render(build(frame, GLUE, tasks=PART), "md")


def test_more_rows_than_are_compared_keep_plain_ranks_with_the_reason():
    frame = whole_suite({f"arm {i}": 0.5 + i / 1000 for i in range(61)}, seeds=((0, 0), (1, 0)))
    table = tied(build(frame, GLUE), frame, store=None)
    assert table.ranking.endswith("without significance tests: there are more than 60 rows.")
    assert table.rows[0].rank == 1


def test_the_rule_decides_which_metrics_a_column_shows():
    table = build(whole_suite({"bert": 0.5}), GLUE, "glue_server9")
    metrics = {column.name: column.metrics for column in table.columns}
    assert metrics["mrpc"] == ("f1", "accuracy")
    assert metrics["stsb"] == ("pearson", "spearman")


def test_results_of_other_suites_are_left_out():
    other = results({("bert", "sst2", "validation", "accuracy"): {(0, 0): 0.9}}, suite="glue-v0")
    assert build(other, GLUE).rows == ()


def test_rows_of_several_experiments_carry_their_name():
    score = {("bert", "sst2", "validation", "accuracy"): {(0, 0): 0.9}}
    both = pd.concat([results(score, experiment=name) for name in ("one", "two")])
    names = [row.name for row in build(both, GLUE, tasks=PART).rows]
    assert names == ["one: bert", "two: bert"]


def test_duplicate_results_are_refused():
    score = results({("bert", "sst2", "validation", "accuracy"): {(0, 0): 0.9}})
    with pytest.raises(ValueError, match="duplicate result"):
        build(pd.concat([score, score]), GLUE)


def test_a_part_of_a_suite_has_its_own_name():
    table = build(
        whole_suite({"bert": 0.5}), GLUE, tasks=("rte", "sst2"), published=["glue_test_bert"]
    )
    assert table.suite.name == "glue-v1[sst2, rte]"
    assert table.average.name == "mean_of_columns"
    base = {row.name: row for row in table.published[0].rows}["BERT_BASE"]
    assert base.average is None  # the paper prints none of these two
    assert build(whole_suite({"bert": 0.5}), GLUE, tasks=GLUE.tasks).suite == GLUE


def test_chance_stands_only_under_main_scores():
    chance = build(whole_suite({"bert": 0.5}), GLUE, "electra_dev8").references[0]
    shown = dict(zip([c.name for c in GLUE.columns], chance.scores, strict=True))
    assert shown["sst2"].mean == pytest.approx(100 * TASKS["sst2"].chance)
    assert shown["mrpc"] is None  # accuracy here, while the task's chance is that of F1


def test_levels_are_of_the_task_s_own_examples():
    """Not of those of AX-g, nor of the cells of HANS that have one label."""
    for suite, others in (("superglue-v2", {"axg"}), ("overlap-v1", {"hans_subsequence_entailed"})):
        table = build(results({}), suite)
        for level in table.references:
            named = zip([column.name for column in table.columns], level.scores, strict=True)
            shown = {name for name, score in named if score}
            assert shown and not shown & others
        assert {level.name for level in table.references} >= {"chance"}


def test_to_frame():
    frame = build(whole_suite({"bert": 0.5}), GLUE, arms=["none"]).to_frame()
    assert frame["arm"].tolist() == ["bert", "none"]
    assert frame["rank"].tolist()[0] == 1
    assert frame["average"][0] == pytest.approx(50.55)
    assert np.isnan(frame["average"][1])
    assert build(results({}), GLUE).to_frame().empty


def test_a_table_prints_as_its_rows():
    head, *rows = str(build(whole_suite({"bert": 0.5}), GLUE, arms=["none"])).splitlines()
    assert head.split()[:2] == ["rank", "arm"] and rows[0].split()[1] == "bert"


# Published rows.


def test_published_rows_share_only_equal_metrics():
    table = build(whole_suite({"bert": 0.5}), GLUE, published=["electra_flops"])
    electra = {row.name: row for row in table.published[0].rows}["ELECTRA-1.75M"]
    shown = dict(zip([c.name for c in GLUE.columns], electra.scores, strict=True))
    assert shown["sst2"].mean == 96.9
    assert shown["mrpc"] is None  # published as accuracy, shown as F1
    assert electra.average is None


def test_rows_of_another_split_are_separate_with_the_reason():
    table = build(whole_suite({"bert": 0.5}), GLUE, "electra_dev8",
                  published=["glue_test_bert", "electra_flops"])  # fmt: skip
    apart, beside = table.published
    assert (apart.comparable, beside.comparable) == (False, True)
    assert apart.reason == ("Not comparable row by row: published on test, measured on validation.")
    assert "Devlin et al. 2019, BERT, NAACL, table 1; test. Not" in render(table, "md")


def test_published_rows_name_their_source():
    table = build(whole_suite({"bert": 0.5}), GLUE, published=["glue_test_bert", "electra_flops"])
    sources = {
        "BERT_BASE": "Devlin et al. 2019, table 1",
        "ELECTRA-400K": "Clark et al. 2020, table 2",
    }
    for format in ("md", "html", "latex"):
        lines = render(table, format).replace("\\", "").splitlines()
        for name, source in sources.items():
            assert any(name in line and source in line for line in lines), (format, name)


def test_unknown_published_tables_are_refused():
    with pytest.raises(ValueError, match="unknown published table 'bert'"):
        build(results({}), GLUE, published=["bert"])
    with pytest.raises(ValueError, match="holds no scores"):
        build(results({}), GLUE, published=["model_sizes"])


def test_every_published_table_is_indexed_cited_and_readable():
    index = published_index()
    files = {path.stem for path in (leaderboards_folder() / "published").glob("*.csv")}
    assert files == {*index.index, "index", "columns", "exceptions", "claims"}
    assert (index["citation"] != "").all()
    for name in index.index[index["kind"] == "scores"]:
        table = published_table(name)
        assert {"task", "split", "metric", "value"} <= set(table.columns)
        assert not table["value"].isna().any()
        assert not table.drop(columns="value").duplicated().any()
        splits = set(table["split"].str.split("_").str[0])
        assert splits == set(index.at[name, "split"].split(" and "))


def test_boards_are_sound():
    assert {"glue", "micro-glue"} <= set(board_names())
    for name in board_names():
        board = load_board(name)
        suite = SUITES[board.suite]
        assert isinstance(board, Board)
        assert board.average == suite.average
        for table in board.published:
            blocks = build(results({}), suite, board.average, published=[table]).published
            assert blocks, f"{table} has no column of {suite.name}"
            assert all(
                block.split == "validation" or block.split.startswith("test") for block in blocks
            )  # never both in one
    assert "glue_test_bert" in board_of_suite("glue-v1").published
    assert board_of_suite("no-suite") is None


def test_unknown_and_wrong_boards_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="unknown board 'glu'"):
        load_board("glu")
    boards = tmp_path / "boards"
    boards.mkdir()
    (boards / "bad.yaml").write_text("title: Bad\nsuite: glue-v9\naverage: bert_table1\n")
    (boards / "worse.yaml").write_text("title: Bad\nsuit: glue-v1\n")
    monkeypatch.setattr("harness.leaderboard.published.leaderboards_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="unknown suite 'glue-v9'"):
        load_board("bad")
    with pytest.raises(ValueError, match="suit"):
        load_board("worse")


# Output formats.


def test_csv_is_equal_byte_for_byte_whatever_the_order_of_results():
    frame = whole_suite({"bert": 0.5, "roberta": 0.6})
    table = build(frame, GLUE, protocol="pooling cls")
    shuffled = frame.sample(frac=1, random_state=0)
    again = build(shuffled, GLUE, protocol="pooling cls")
    assert render(table, "csv").encode() == render(again, "csv").encode()


def test_csv_by_hand():
    scores = {
        ("bert", "sst2", "validation", "accuracy"): {(0, 0): 0.9, (1, 0): 0.8},
        ("bert", "rte", "validation", "accuracy"): {(0, 0): 0.5, (1, 0): 0.6},
    }
    text = render(build(results(scores), GLUE, tasks=PART, protocol="pooling cls, epochs 3"), "csv")
    head, bert, chance = text.splitlines()
    assert head == (
        "kind,rank,arm,sst2 (acc),sst2 (acc) sd,rte (acc),rte (acc) sd,average,average sd,"
        "pretrain_seeds,finetune_seeds,split,source,suite,average_rule,protocol,reason"
    )
    assert bert == (
        "measured,1,bert,85.0000,7.0711,55.0000,7.0711,70.0000,0.0000,2,1,validation,,"
        '"glue-v1[sst2, rte]",mean_of_columns,"pooling cls, epochs 3",'
    )
    assert chance.startswith("reference,,chance,50.9174,,52.7076,,51.8125,,,,validation")


def test_arms_that_are_adapted_in_different_ways_show_what_they_train():
    arms = {"full": 0.9, "lora": 0.8}
    frame = whole_suite(arms)
    trained = QuantityColumn(
        "trained_parameters", "trained parameters", {"full": np.array([12_345.0])}, "", True
    )
    table = build(frame, "glue-v1", quantities=(trained,))
    assert table.to_frame()["trained_parameters"].tolist()[0] == 12_345
    assert "12,345" in render(table, "md") and "12,345" in render(table, "html")
    assert ",12345," in render(table, "csv") and "trained_parameters" in render(table, "csv")
    heads = {len(line.split("|")) for line in render(table, "md").splitlines() if "|" in line}
    assert len(heads) == 1
    assert "trained" not in render(build(frame, "glue-v1"), "md").split("Protocol")[0]


def test_rows_that_are_not_comparable_are_separate_in_every_format():
    """A table of their own with the reason; in csv, where one table is all, a column with it."""
    published = ["glue_test_bert", "electra_flops"]
    table = build(whole_suite({"bert": 0.5}), GLUE, "electra_dev8", published=published)
    reason = "Not comparable row by row: published on test, measured on validation."
    for format, end in (("md", "\n\n"), ("html", "</table>"), ("latex", "\\end{tabular}")):
        measured, rest = render(table, format).replace("\\_", "_").split(end, 1)
        assert "ELECTRA-400K" in measured and "BERT_BASE" not in measured, format
        assert reason not in measured, format
        assert "BERT_BASE" in rest, format
        assert reason in rest[: rest.index("BERT_BASE")], format
    rows = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    reasons = {row["arm"]: row["reason"] for row in rows}
    assert (reasons["BERT_BASE"], reasons["ELECTRA-400K"], reasons["bert"]) == (reason, "", "")


@pytest.mark.parametrize("format", ["md", "csv", "html", "latex"])
def test_every_format_names_suite_rule_and_protocol(format):
    table = build(
        whole_suite({"bert": 0.5}), GLUE, protocol="pooling cls", published=["glue_test_bert"]
    )
    text = render(table, format).replace("\\", "")
    for part in ("glue-v1", "bert_table1", "pooling cls", "Devlin et al. 2019", "BERT_LARGE"):
        assert part in text
    assert text == render(table, format).replace("\\", "")


def test_hostile_names_stay_text():
    name = "<script>|*x*_y_&$\n\\end{tabular}"
    scores = {(name, task, "validation", "accuracy"): {(0, 0): 0.9} for task in PART}
    table = build(results(scores), GLUE, tasks=PART)
    assert "<script>" not in render(table, "html")
    assert "&lt;script&gt;" in render(table, "html")
    markdown = render(table, "md")
    assert r"\<script>\|\*x\*" in markdown
    assert {line.replace(r"\|", "").count("|") for line in markdown.splitlines()[:3]} == {7}
    latex = render(table, "latex")
    assert latex.count(r"\end{tabular}") == 1
    assert r"\&\$" in latex
    (row,) = [row for row in csv.reader(io.StringIO(render(table, "csv"))) if row[0] == "measured"]
    assert row[2] == name


def test_markdown_escapes_special_characters():
    assert markdown_escape("_foo_ a~~b~~ &lt; $x$") == r"\_foo\_ a\~\~b\~\~ \&lt; \$x\$"
    assert markdown_escape("__all__") == r"\_\_all\_\_"
    assert markdown_escape("bag_of_words 2.0 (F1) ± 3") == "bag_of_words 2.0 (F1) ± 3"


def test_latex_ends_with_the_notes():
    lines = render(build(results({}), GLUE), "latex").splitlines()
    assert r"\par{\footnotesize" in lines and lines[-1] == "}"


def test_unknown_formats_are_refused():
    with pytest.raises(ValueError, match="unknown format 'pdf'; known: md, csv, html, latex"):
        render(build(results({}), GLUE), "pdf")


def test_unknown_suites_are_refused():
    with pytest.raises(ValueError, match="the suite 'glue' is not known"):
        build(results({}), "glue")


def test_protocol_line():
    protocol = {
        "pooling": "cls",
        "max_train_examples": None,
        "finetune": {"epochs": 3, "beta2": 0.98},
    }
    line = "pooling cls, max_train_examples none, finetune.epochs 3, finetune.beta2 0.98"
    assert protocol_line(protocol) == line


def test_every_metric_has_a_short_name():
    assert METRIC_LABELS.keys() == METRICS.keys()


def test_notes_name_the_variants_of_the_metrics():
    (note,) = [note for note in build(whole_suite({"a": 0.5}), GLUE).notes() if "Metrics" in note]
    assert note.startswith("Metrics: F1 (f1): F1 of class 1; Spearman (spearman): one correlation")
    plain = build(whole_suite({"a": 0.5}), GLUE, tasks=("sst2", "rte"))
    assert not any("Metrics" in note for note in plain.notes())
    column = Column(name="sums", task="sst2", metrics=("bleu_intl", "entity_f1_strict"))
    layout = replace(plain.layout, columns=(column,))
    (note,) = [note for note in replace(plain, layout=layout).notes() if "Metrics" in note]
    assert "tok:intl" in note and "version:" in note and "scheme IOB2" in note
