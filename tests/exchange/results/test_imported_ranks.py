"""Imported rows with the counts of their examples are ranked as measured rows are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.analysis.recording import record_results
from harness.exchange.results.export_results import export_results, runs_of_results
from harness.exchange.results.import_results import import_results
from harness.exchange.results.schema import EXAMPLES, SCORES, examples_path
from harness.leaderboard.boards import board_table, store_board
from harness.leaderboard.ranks import RANKING, adjusted_p
from harness.leaderboard.render import render
from harness.leaderboard.table import NO_AVERAGES, Row, Table
from harness.plan.protocol import protocol_digest
from harness.report.site.board_page import differences
from harness.report.site.build import _boards
from harness.store.recorded import recorded_experiments
from harness.store.store import Store
from harness.study import Study
from harness.tasks.scores import save_counts

EXPERIMENT = """
name: two
question: Which is better?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
seeds: {pretrain: 3}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""
ACCURACY = {"nsp": (0.9, 0.91, 0.92), "none": (0.6, 0.61, 0.62)}
NUM_EXAMPLES = 300
LABELS = np.arange(NUM_EXAMPLES) % 2.0
TASKS = ["micro-sst2"]


def filled(folder: Path, arms: list[str], labels: np.ndarray = LABELS) -> Study:
    """A study in which runs of `arms` are finished."""
    folder.mkdir()
    (folder / "two.yaml").write_text(EXPERIMENT)
    study = Study.load(folder / "two.yaml", (), folder / "runs")
    for run in study.plan.finetune_runs:
        if run.arm in arms:
            rng = np.random.default_rng([run.pretrain_seed, len(run.arm)])
            accuracy = ACCURACY[run.arm][run.pretrain_seed]
            right = rng.permutation(NUM_EXAMPLES) < accuracy * NUM_EXAMPLES
            out = folder / run.key
            out.mkdir()
            frame = pd.DataFrame({"split": "validation", "index": range(NUM_EXAMPLES)})
            frame = frame.assign(label=labels, prediction=np.where(right, labels, 1 - labels))
            frame.to_parquet(out / "predictions.parquet")
            counts = {
                "accuracy": np.c_[right, np.ones(NUM_EXAMPLES)],
                "labels": labels.astype(np.uint8),
            }
            save_counts(out / "counts.npz", {"validation": counts})
            metrics = {"validation/accuracy": float(right.mean())}
            study.store.record(run.key, "finetune", run.key, {}, metrics, out)
    record_results(study.results)
    return study


def exported(study: Study, path: Path, source: str = "lab x") -> Path:
    export_results([runs_of_results(study.results)], path, source=source)
    return path


def other_protocol(path: Path) -> Path:
    """The file with another protocol."""
    scores = pd.read_parquet(path)
    text = scores["protocol"].iloc[0].replace('"max"', '"mean"')
    scores = scores.assign(protocol=text, protocol_digest=protocol_digest(text), stage=None)
    pq.write_table(pa.Table.from_pandas(scores, schema=SCORES, preserve_index=False), path)
    return path


def imported_rows(table: Table) -> dict[str, Row]:
    return {row.name: row for block in table.published for row in block.rows}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return filled(tmp_path_factory.mktemp("both") / "here", ["nsp", "none"])


def test_imported_rows_have_the_ranks_that_they_had_where_they_were_measured(
    both: Study, tmp_path: Path
) -> None:
    measured = board_table("micro-glue-v1", both.store, tasks=TASKS)
    assert [(row.name, row.rank, row.rank_interval) for row in measured.rows] == [
        ("nsp", 1, (1, 1)),
        ("none", 2, (2, 2)),
    ]
    there = Store(tmp_path / "there")
    import_results(exported(both, tmp_path / "x.parquet"), there)
    table = board_table("micro-glue-v1", there, tasks=TASKS)
    assert imported_rows(table) == {row.name: row for row in measured.rows}
    assert "| 2 | none (imported from lab x) † |" in render(table, "md")


def test_imported_and_measured_rows_are_ranked_together(tmp_path: Path) -> None:
    here, there = filled(tmp_path / "here", ["none"]), filled(tmp_path / "there", ["nsp"])
    import_results(exported(there, tmp_path / "x.parquet"), here.store)
    table = board_table("micro-glue-v1", here.store, tasks=TASKS)
    assert [(row.name, row.rank) for row in table.rows] == [("none", 2)]
    assert imported_rows(table)["nsp"].rank == 1
    assert imported_rows(table)["nsp"].average.best  # type: ignore[union-attr]


def test_adjusted_p_covers_the_pairs_with_imported_rows(tmp_path: Path) -> None:
    here, other = filled(tmp_path / "here", ["nsp", "none"]), filled(tmp_path / "other", ["nsp"])
    path = exported(other, tmp_path / "x.parquet")
    scores = pd.read_parquet(path).assign(stage=None)  # else it counts as computed here
    pq.write_table(pa.Table.from_pandas(scores, schema=SCORES, preserve_index=False), path)
    import_results(path, here.store)
    board = store_board("micro-glue-v1", here.store, tasks=TASKS)
    assert board.compared and len(board.imported) == 1
    together = replace(board.table, rows=(*board.table.rows, *board.imported))
    alone = adjusted_p(board.table, board.compared)["SST-2"][0, 1]
    # Both pairs with `none` have the same p, the smallest of three.
    assert adjusted_p(together, board.compared)["SST-2"][0, 1] == pytest.approx(1.5 * alone)
    assert len(differences(board.table, board.compared, board.imported)["SST-2"]) == 1


def test_without_counts_or_on_other_examples_there_is_no_rank(tmp_path: Path) -> None:
    here = filled(tmp_path / "here", ["none"])
    other = filled(tmp_path / "other", ["nsp"], labels=1 - LABELS)
    import_results(exported(other, tmp_path / "x.parquet", "other labels"), here.store)
    without = exported(filled(tmp_path / "third", ["nsp"]), tmp_path / "y.parquet", "no counts")
    rows = pd.read_parquet(examples_path(without)).assign(counts=None)
    table = pa.Table.from_pandas(rows, schema=EXAMPLES, preserve_index=False)
    pq.write_table(table, examples_path(without))
    import_results(without, here.store)
    found = board_table("micro-glue-v1", here.store, tasks=TASKS)
    assert [(row.name, row.rank) for row in found.rows] == [("none", 1)]
    ranks = [row.rank for block in found.published for row in block.rows]
    assert ranks == [None, None]


def test_rows_of_another_protocol_are_ranked_in_their_block(both: Study, tmp_path: Path) -> None:
    here, there = filled(tmp_path / "here", ["none"]), tmp_path / "x.parquet"
    import_results(other_protocol(exported(both, there)), here.store)
    table = board_table("micro-glue-v1", here.store, tasks=TASKS)
    assert [(row.name, row.rank) for row in table.rows] == [("none", 1)]
    assert {name: row.rank for name, row in imported_rows(table).items()} == {"nsp": 1, "none": 2}
    assert not any(block.comparable for block in table.published)
    assert replace(table, published=()).rows == table.rows


def test_a_board_of_imports_with_some_tasks_has_their_average(both: Study, tmp_path: Path) -> None:
    there = Store(tmp_path / "there")
    import_results(exported(both, tmp_path / "x.parquet"), there)
    table = board_table("micro-glue-v1", there)
    assert table.average.label == "mean of 1 of 6 tasks" and NO_AVERAGES not in table.notes()
    assert {name: row.rank for name, row in imported_rows(table).items()} == {"nsp": 1, "none": 2}
    for format in ("md", "html"):
        text = render(table, format)
        assert "mean of the columns that all imported rows have, SST-2, as no row has" in text
        assert RANKING in text.replace("&#39;", "'"), format
    assert '<th scope="col">place</th>' in text and "The source prints" not in text
    assert text.count("No score was imported for this column.") == 10


def test_groups_of_a_class_stand_in_the_order_of_their_averages_and_on_the_site(
    tmp_path: Path,
) -> None:
    there = Store(tmp_path / "there")
    for group, arm in (("a", "none"), ("b", "nsp")):
        path = exported(filled(tmp_path / group, [arm]), tmp_path / f"{group}.parquet", group)
        import_results(path, there)
    table = board_table("micro-glue-v1", there, tasks=TASKS)
    assert [(name, row.rank) for name, row in imported_rows(table).items()] == [
        ("nsp", 1),
        ("none", 2),
    ]
    (board,) = _boards(there, recorded_experiments(there), iter)
    assert (board.suite, board.first, board.imported) == ("micro-glue-v1", ["nsp"], ["nsp", "none"])


def test_imports_that_share_no_column_have_no_average_and_a_line_that_says_so(
    both: Study, tmp_path: Path
) -> None:
    there, path = Store(tmp_path / "there"), exported(both, tmp_path / "x.parquet")
    import_results(path, there)
    scores = pd.read_parquet(path).assign(task="micro-rte", source="lab y")
    pq.write_table(pa.Table.from_pandas(scores, schema=SCORES, preserve_index=False), path)
    examples_path(path).unlink()
    import_results(path, there)
    table = board_table("micro-glue-v1", there)
    assert not any(row.average for block in table.published for row in block.rows)
    assert NO_AVERAGES in table.notes()


def test_imports_of_several_protocols_do_not_share_a_table(both: Study, tmp_path: Path) -> None:
    there = Store(tmp_path / "there")
    import_results(exported(both, tmp_path / "x.parquet"), there)
    import_results(other_protocol(exported(both, tmp_path / "y.parquet", "lab y")), there)
    table = board_table("micro-glue-v1", there, tasks=TASKS)
    first, second = table.published
    assert first.reason == second.reason == "The imported rows have several protocols."
    assert [[row.rank for row in block.rows] for block in table.published] == [[1, 2], [1, 2]]
    assert RANKING in table.notes()
    import_results(exported(both, tmp_path / "z.parquet", "lab z"), there)
    blocks = board_table("micro-glue-v1", there, tasks=TASKS).published
    reasons = {block.source: block.reason for block in blocks}
    other = reasons.pop("imported from lab y")
    assert other.startswith("The protocol differs from that of most imported rows (")
    assert not any(reasons.values()) and len(reasons) == 2
    assert [row.rank for block in blocks if block.comparable for row in block.rows] == [1, 2, 1, 2]
