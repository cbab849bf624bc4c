"""Published cells: none mistyped, in columns of their own metric and split, averages as printed."""

import pandas as pd
import pytest

from harness.analysis.averages import AVERAGES
from harness.leaderboard.build import build
from harness.leaderboard.published import (
    load_board,
    published_entry,
    published_index,
    published_table,
)
from harness.leaderboard.reference_rows import _published_row
from harness.leaderboard.render import render
from harness.store.recorded import SCORE_COLUMNS
from harness.tasks.metrics import METRICS
from harness.tasks.task import Column

NOTHING = pd.DataFrame(columns=SCORE_COLUMNS)
TOTALS = {
    "glue_test_bert": (50, 3817.60),
    "swag": (10, 728.40),
    "roberta_data_steps": (20, 1824.60),
    "t5_architecture_objective": (70, 3272.55),
    "t5_repeats": (25, 965.66),
    "t5_sizes_glue": (84, 7254.50),
    "electra_flops": (63, 5540.50),
    "bart_nlu": (58, 5037.20),
    "bart_summarization": (39, 1111.91),
    "superglue_leaderboard": (300, 22815.10),
    "dapt_corpora": (9, 12.74),
    "dapt_downstream": (16, 1322.00),
    "sts_spearman": (72, 4670.88),
    "mteb_sts": (7, 552.55),
}
"""Cells of each table, and their sum: a mistyped one changes it."""
UNKNOWN = {"average", "correlation", "masked_lm_loss"}
"""What is printed and not measured here: averages without their parts, BART's unnamed correlation
on STS-B, and the loss of another network's masks."""


def blocks(board, published=None):
    board = load_board(board)
    published = published or board.published
    return build(NOTHING, board.suite, board.average, published=published).published


def by_name(block):
    return {row.name: row for row in block.rows}


def test_cells_are_all_there_and_add_up():
    index = published_index()
    assert TOTALS.keys() == set(index.index[index["kind"] == "scores"])
    for name, (cells, total) in TOTALS.items():
        values = published_table(name)["value"]
        assert len(values) == cells, name
        assert values.sum() == pytest.approx(total, abs=1e-6), name
    spreads = published_table("dapt_downstream")["sd"].astype(float)
    assert spreads.sum() == pytest.approx(25.5)
    flops = published_table("electra_flops").drop_duplicates("system")
    assert flops["train_flops_rel"].tolist() == ["0.27", "0.90", "4.5", "5.4", "1", "1", "4.4"]


def test_every_metric_is_known():
    found = {metric for name in TOTALS for metric in published_table(name)["metric"]}
    assert found - METRICS.keys() - AVERAGES.keys() == UNKNOWN


def test_every_printed_average_is_of_the_rule_in_the_index():
    for name in TOTALS:
        table = published_table(name)
        rules = set(table[table["task"] == "average"]["metric"])
        assert rules == set(filter(None, [published_entry(name)["average"]])), name


def test_dev_and_test_cells_never_share_a_table():
    """Devlin et al. 2019, SWAG: BERT_BASE and ESIM are printed on dev, people on test alone."""
    dev, test = blocks("swag")
    assert (dev.split, dev.reason) == ("validation", "")
    assert list(by_name(dev)) == ["ESIM+GloVe", "ESIM+ELMo", "BERT_BASE", "BERT_LARGE"]
    assert (test.split, test.comparable) == ("test", False)
    assert "OpenAI GPT" in by_name(test) and "BERT_BASE" not in by_name(test)
    assert by_name(dev)["BERT_LARGE"].scores[0].mean == 86.6
    assert by_name(test)["BERT_LARGE"].scores[0].mean == 86.3
    beside, apart = render(build(NOTHING, "swag-v1", published=["swag"]), "md").split(
        "\nPublished†"
    )
    assert "81.6" in beside and "85.0" not in beside
    assert "85.0" in apart and "81.6" not in apart


def test_splits_without_a_twin_go_with_what_they_are_beside():
    (block,) = blocks("superglue")
    assert block.split == "test and axg and axb"
    assert None not in by_name(block)["T5"].scores


def test_systems_of_one_name_keep_their_rows():
    (block,) = blocks("glue", ["roberta_data_steps"])
    rows = by_name(block)
    assert len(block.rows) == 5
    assert rows["RoBERTa, with BOOKS + WIKI"].scores[0].mean == 89.0
    assert rows["RoBERTa, + pretrain even longer"].scores[0].mean == 90.2
    (block,) = blocks("squad", ["t5_architecture_objective"])
    assert by_name(block)["Prefix LM, LM"].scores[0] is not None
    assert len(block.rows) == 10
    assert blocks("glue", ["t5_repeats"]) == ()  # its GLUE averages are no column


def test_one_name_of_a_system_is_enough_where_it_is_its_own():
    (block,) = blocks("glue", ["electra_flops"])
    assert "ELECTRA-1.75M" in by_name(block)


def test_rows_of_several_papers_have_different_names():
    text = render(build(NOTHING, "glue-v1", published=["electra_flops", "bart_nlu"]), "md")
    assert "| BERT (Clark et al. 2020, table 2) †1 |" in text
    assert "| BERT (Lewis et al. 2020) †2 |" in text
    assert "†2 Published: Lewis et al. 2020" in text


def test_averages_are_printed_ones_or_none():
    glue = by_name(blocks("glue", ["glue_test_bert"])[0])
    assert glue["BiLSTM+ELMo+Attn"].average.mean == 71.0
    assert glue["BERT_LARGE"].average.mean == 82.1
    sts = by_name(blocks("sts")[0])
    *others, sickr = sts["SBERT-NLI-base"].scores  # of SentEval's split, not that of the task
    assert (sickr, sts["SBERT-NLI-base"].average) == (None, None)
    assert others[-1].mean == 77.03
    assert by_name(blocks("sts")[1])["all-MiniLM-L6-v2"].scores[-1].mean == 77.58
    for board in ("squad", "summarisation", "dapt", "swag"):
        assert {row.average for block in blocks(board) for row in block.rows} == {None}, board
    other = build(NOTHING, "glue-v1", "glue_server9", published=["glue_test_bert"]).published[0]
    assert {row.average for row in other.rows} == {None}
    part = build(NOTHING, "sts-v1", tasks=("sts12", "sickr"), published=["sts_spearman"])
    assert {row.average for row in part.published[0].rows} == {None}


def test_printed_spreads_stand_with_their_means():
    """Gururangan et al. 2020, table 3: HYP., DAPT 88.2 and 5.9 below it."""
    (block,) = blocks("dapt")
    score = by_name(block)["DAPT"].scores[4]
    assert (score.mean, score.sd) == (88.2, 5.9)


def test_a_table_is_of_the_split_that_all_its_columns_share():
    """Summaries are scored on test, as they are published; GLUE on both dev sets of MNLI."""
    layouts = [build(NOTHING, load_board(board).suite) for board in ("summarisation", "glue")]
    assert [table.split for table in layouts] == ["test", "validation"]
    assert "splits: test." in " ".join(layouts[0].notes())


def published_row(*cells, metrics=("f1",)):
    """A row of cells (task, metric, value, standard deviation) in the columns rte and mrpc."""
    names = ["task", "metric", "value", "sd"]
    columns = (
        Column(name="rte", task="rte", metrics=("accuracy",)),
        Column(name="mrpc", task="mrpc", metrics=metrics),
    )
    frame = pd.DataFrame(cells, columns=names).assign(split="validation", name="a")
    return _published_row("a", frame, columns, AVERAGES["mean_of_columns"])


def test_a_printed_average_is_that_of_all_columns():
    rte, mrpc = ("rte", "accuracy", 70.0, ""), ("mrpc", "f1", 90.0, "")
    printed = ("average", "mean_of_columns", 80.0, "")
    assert published_row(rte, mrpc, printed).average.mean == 80
    assert published_row(rte, printed).average is None
    assert published_row(rte, mrpc, ("sst2", "accuracy", 80.0, ""), printed).average is None


def test_a_mean_of_two_metrics_has_no_printed_spread():
    cells = [("rte", "accuracy", 70.0, "1.5"), ("mrpc", "f1", 90.0, "0.5")]
    cells.append(("mrpc", "accuracy", 86.0, "0.7"))
    rte, mrpc = published_row(*cells, metrics=("f1", "accuracy")).scores
    assert (rte.mean, rte.sd, mrpc.mean, mrpc.sd) == (70, 1.5, 88, None)
    assert published_row(*cells).scores[1].sd == 0.5


def test_another_scorer_stands_apart():
    (block,) = blocks("summarisation")
    assert block.split == "test"
    assert not block.comparable
    assert "files2rouge" in block.reason


def test_the_setting_of_sts_is_given():
    assert "is not named by our source" in published_entry("sts_spearman")["protocol"]
