"""Signal and noise below boards: by a reference, the rows that count, and the forms."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import f_oneway

from harness.analysis.statistics.signal import signal_and_noise
from harness.leaderboard.boards import board_table, store_board
from harness.leaderboard.render import render
from harness.leaderboard.selection import with_columns
from harness.leaderboard.signals import AVERAGE, BOARD_NOTE, NOTE, TITLE, board_signal_table
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import Format
from harness.store.recorded import SCORE_COLUMNS, RecordedExperiment
from harness.store.store import Store
from harness.tasks import TASKS
from tests.filled_store import fill

FORMATS: tuple[Format, ...] = ("md", "csv", "html", "latex")
CHOSEN = ("sst2", "rte")
Scores = Mapping[str, Sequence[Sequence[float]]]
"""Arm to its scores [pretraining seeds][fine-tuning seeds] on SST-2; on RTE 0.1 less."""


def recorded(
    folder: Path, name: str, arms: Scores, families: Mapping[str, str] | None = None
) -> RecordedExperiment:
    rows = [
        (name, arm, "glue-v1", task, split.name, metric, value - place / 10, seed, run)
        for arm, seeds in arms.items()
        for seed, runs in enumerate(seeds)
        for run, value in enumerate(runs)
        for place, task in enumerate(CHOSEN)
        for split in TASKS[task].evaluation
        for metric in TASKS[task].metrics
    ]
    scores = pd.DataFrame(rows, columns=SCORE_COLUMNS[:-1])
    parts = (scores[part].astype(str) for part in ("arm", "task", "pretrain_seed", "finetune_seed"))
    scores["key"] = [f"{name}-{'-'.join(key)}" for key in zip(*parts, strict=True)]
    one = RecordedExperiment(name, folder)
    one.__dict__["_scores"] = pa.Table.from_pandas(scores)
    fields = {
        arm: {"model": {"family": (families or {}).get(arm, "bert")}, "size": None, "budget": {}}
        for arm in arms
    }
    one.__dict__["spec"] = {
        "experiment": {"sweep": None},
        "arms": {arm: {"pretrain": own, "evaluate": {}} for arm, own in fields.items()},
    }
    return one


def board(folder: Path, *experiments: RecordedExperiment, **fields: Any) -> Table:
    there = Store(folder)
    return store_board("glue", there, experiments=experiments, finished={}, **fields).table


def drawn(seed: int, **means: float) -> dict[str, list[list[float]]]:
    rng = np.random.default_rng(seed)
    return {arm: rng.normal(mean, 0.02, (4, 2)).tolist() for arm, mean in means.items()}


def reference(
    arms: Sequence[Sequence[Sequence[float]]], shift: float
) -> tuple[float, float, float]:
    """Signal, noise and p by scipy, of the means of the fine-tuning runs."""
    points = [[100 * (sum(runs) / len(runs) - shift) for runs in seeds] for seeds in arms]
    means = [sum(seeds) / len(seeds) for seeds in points]
    noise = np.sqrt(np.mean([np.var(seeds, ddof=1) for seeds in points]))
    return max(means) - min(means), float(noise), float(f_oneway(*points).pvalue)


def test_columns_and_average_are_those_of_scipy_on_the_seeds(tmp_path: Path) -> None:
    one, two = drawn(0, a=0.7, b=0.72), drawn(1, c=0.71)
    table = board(tmp_path, recorded(tmp_path, "one", one), recorded(tmp_path, "two", two))
    arms = [*one.values(), *two.values()]
    assert table.signals.keys() == {"sst2", "rte", AVERAGE}
    for name, shift in {"sst2": 0.0, "rte": 0.1, AVERAGE: 0.05}.items():
        found = table.signals[name]
        assert (found.signal, found.noise, found.p) == pytest.approx(reference(arms, shift))
        assert found.num_arms == 3


def test_baselines_and_rows_with_one_seed_are_left_out(tmp_path: Path) -> None:
    some, same = drawn(0, a=0.7, b=0.72), [[0.5, 0.5]] * 4
    far = {**some, "majority": same, "words": same, "single": [[0.99, 0.98]]}
    families = {"majority": "majority", "words": "bag_of_words"}
    table = board(tmp_path, recorded(tmp_path, "one", far, families))
    assert {"majority", "words", "single"} < {row.name for row in table.rows}
    assert table.signals == board(tmp_path, recorded(tmp_path, "one", some)).signals


def test_a_row_with_one_seed_in_a_column_is_left_out_of_it(tmp_path: Path) -> None:
    one = recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72, c=0.9))
    scores = one.scores
    lacks = (scores["arm"] == "c") & (scores["task"] == "rte") & (scores["pretrain_seed"] > 0)
    one.__dict__["_scores"] = pa.Table.from_pandas(scores[~lacks])
    del one.__dict__["scores"]
    table = board(tmp_path, one)
    counted = {name: found.num_arms for name, found in table.signals.items()}
    assert counted == {"sst2": 3, "rte": 2, AVERAGE: 2}


def test_runs_that_rows_share_count_once(tmp_path: Path) -> None:
    arms = drawn(0, a=0.7, b=0.72)
    one, again = (recorded(tmp_path, name, arms) for name in ("one", "again"))
    shared = again.scores.assign(key=one.scores["key"])
    fewer = shared[shared["pretrain_seed"] > 0]  # with all runs, they were the same rows
    again.__dict__["_scores"] = pa.Table.from_pandas(fewer)
    table = board(tmp_path, one, again)
    assert len(table.rows) == 4 and table.signals["sst2"].num_arms == 2
    assert table.signals["sst2"] == board(tmp_path, one).signals["sst2"]


def test_published_rows_are_left_out(tmp_path: Path) -> None:
    table = board_table("swag", fill(tmp_path))
    assert table.published
    assert table.signals["swag"].num_arms == len(table.rows) == 3


@pytest.mark.parametrize("arms", [{}, {"a": [[0.7], [0.8]]}, {"a": [[0.7]], "b": [[0.6]]}], ids=len)
def test_boards_without_two_rows_of_two_seeds_show_nothing(tmp_path: Path, arms: Scores) -> None:
    table = board(tmp_path, *([recorded(tmp_path, "one", arms)] if arms else []))
    assert not table.signals and board_signal_table(table) is None
    assert all(TITLE not in render(table, format) for format in FORMATS)


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("md", "| {} | {:.1f} | {:.1f} |"),
        ("html", '<tr><th scope="row" class="text">{}</th><td>{:.1f}</td><td>{:.1f}</td>'),
        ("latex", "{} & {:.1f} & {:.1f} &"),
    ],
)
def test_forms(tmp_path: Path, format: Format, line: str) -> None:
    table = board(tmp_path, recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72)))
    text = render(table, format)
    above, _, below = text.partition(render(replace(table, signals={}), format).rstrip("\n"))
    assert not above and TITLE in below
    for name, found in table.signals.items():
        assert line.format(name, found.signal, found.noise) in below
    assert NOTE.split("(")[0] in below and BOARD_NOTE.split(";")[0] in below


def test_csv_is_one_table(tmp_path: Path) -> None:
    table = board(tmp_path, recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72)))
    assert render(table, "csv") == render(replace(table, signals={}), "csv")


def test_columns_are_those_that_are_shown(tmp_path: Path) -> None:
    table = board(tmp_path, recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72)))
    shown = board_signal_table(with_columns(table, ["rte"]))
    assert shown and {row[0] for row in shown.rows} == {"rte", AVERAGE}
    part = board(tmp_path, recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72)), tasks=["rte"])
    assert part.signals.keys() == {"rte"}


def test_the_largest_ratio_is_first(tmp_path: Path) -> None:
    table = board(tmp_path, recorded(tmp_path, "one", drawn(0, a=0.7, b=0.72)))
    apart = {"sst2": [3.0, 4.0], "rte": [9.0, 8.0]}
    found = {name: signal_and_noise([np.arange(2.0), np.array(b)]) for name, b in apart.items()}
    signals = {name: one for name, one in found.items() if one}
    shown = board_signal_table(replace(table, signals=signals))
    assert shown and [row[0] for row in shown.rows] == ["rte", "sst2"]
