"""Scores of runs as frames, one row each."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from harness.store.store import Record
from harness.tasks.task import Task

if TYPE_CHECKING:  # a board is made without a plan
    from harness.plan.plan import Cell, Plan

RESULT_COLUMNS = [
    "experiment",
    "arm",
    "suite",
    "task",
    "split",
    "metric",
    "value",
    "pretrain_seed",
    "finetune_seed",
    "key",
]
FORGETTING_COLUMNS = [
    "arm",
    "pretrain_seed",
    "finetune_seed",
    "step",
    "task",
    "split",
    "metric",
    "value",
]


def results_frame(plan: "Plan", records: Mapping[str, Record]) -> pd.DataFrame:
    """One row per cell, split and metric; NaN where a metric is undefined, as the correlation of
    constant predictions, and no row for a run that is not finished."""
    cells = [cell for cell in plan.cells if cell.checkpoint == 1]
    return _frame(plan, cells, records)


def checkpoints_frame(plan: "Plan", records: Mapping[str, Record]) -> pd.DataFrame:
    """The same of weights along the way, with their `checkpoint`: a share of the updates."""
    frames = [
        _frame(plan, [cell for cell in plan.cells if cell.checkpoint == share], records).assign(
            checkpoint=share
        )
        for share in sorted({cell.checkpoint for cell in plan.cells} - {1.0})
    ]
    empty = pd.DataFrame(columns=[*RESULT_COLUMNS, "checkpoint"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _frame(plan: "Plan", cells: Sequence["Cell"], records: Mapping[str, Record]) -> pd.DataFrame:
    suites = {arm.name: arm.evaluate.suite_value.name for arm in plan.arms}
    tasks = plan.experiment.evaluate.chosen
    rows = [
        (
            *(plan.experiment.name, cell.arm, suites[cell.arm], cell.task, split, metric, value),
            *(cell.pretrain_seed, cell.finetune_seed, cell.key),
        )
        for cell in cells
        if cell.key in records
        for split, metric, value in _scores(records[cell.key], tasks[cell.task])
    ]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def _scores(record: Record, task: Task) -> Iterator[tuple[str, str, float]]:
    """(split, metric, value) from the metrics named `split/metric`, of the splits with labels."""
    splits = dict.fromkeys(name.split("/")[0] for name in record.metrics if "/" in name)
    for split in splits or [split.name for split in task.evaluation if not split.optional]:
        for metric in task.metrics:
            yield split, metric, record.metrics.get(f"{split}/{metric}", math.nan)


def forgetting_frame(plan: "Plan", records: Mapping[str, Record]) -> pd.DataFrame:
    """Of arms that learn task after task (`evaluate.sequence`), one row per task just learned
    (`step`), task scored then (`task`: that one or an earlier one), split and metric; in the order
    of the sequence. Where `task` is `step`, the score is the one before anything is forgotten."""
    tasks = plan.experiment.evaluate.chosen
    rows = [
        (
            *(one.arm, one.pretrain_seed, one.finetune_seed, one.step, one.task),
            *(split, metric, value),
        )
        for one in plan.rescored
        if one.key in records
        for split, metric, value in _scores(records[one.key], tasks[one.task])
    ]
    return pd.DataFrame(rows, columns=FORGETTING_COLUMNS)
