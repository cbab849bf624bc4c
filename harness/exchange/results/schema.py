"""The columns of the scores and examples files, and checks of their values; documented in
`docs/results.md`."""

import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa

from harness.core.config import unknown_name
from harness.core.names import check_name
from harness.plan.protocol import protocol_digest
from harness.tasks import SUITES, TASKS
from harness.tasks.metrics import METRICS

VERSION = "1"
MARK = b"pretraining-harness-results"
"""Key of the version in a file's metadata."""


_CELL = [
    pa.field("experiment", pa.string(), nullable=False),
    pa.field("arm", pa.string(), nullable=False),
    pa.field("task", pa.string(), nullable=False),
    pa.field("split", pa.string(), nullable=False),
    pa.field("pretrain_seed", pa.int64(), nullable=False),
    pa.field("finetune_seed", pa.int64(), nullable=False),
]
"""Columns that identify one run on one split, in both files."""
CELL = [field.name for field in _CELL]

SCORES = pa.schema(
    [
        *_CELL,
        pa.field("suite", pa.string(), nullable=False),
        pa.field("suite_version", pa.int64()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("protocol_digest", pa.string(), nullable=False),
        pa.field("protocol", pa.string(), nullable=False),
        pa.field("budget_flops", pa.float64()),
        pa.field("budget_tokens", pa.int64()),
        pa.field("parameters", pa.int64()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("harness_version", pa.string()),
        pa.field("stage", pa.string()),
    ],
    metadata={MARK: VERSION.encode()},
)
EXAMPLES = pa.schema(
    [
        *_CELL,
        pa.field("index", pa.int64(), nullable=False),
        pa.field("group", pa.string()),
        pa.field("label", pa.string()),
        pa.field("prediction", pa.string()),
        pa.field("counts", pa.string()),
        pa.field("source", pa.string(), nullable=False),
    ],
    metadata={MARK: VERSION.encode()},
)
NAMED = ("source", "experiment", "arm", "task", "split", "suite")
"""Columns of names."""
NAMED_IF_GIVEN = ("harness_version", "stage")
COUNTED = ("pretrain_seed", "finetune_seed", "budget_flops", "budget_tokens", "parameters")
"""Columns without negative numbers."""
IDENTITY = ["source", *CELL, "suite", "metric"]
"""Columns that identify a score."""


def examples_path(path: Path) -> Path:
    """The file of the examples beside that of the scores: `x.parquet`, `x.examples.parquet`."""
    return path.with_suffix(".examples.parquet")


def suite_version(suite: str) -> int | None:
    """2 of `micro-glue-v2`; null where a name has no version."""
    found = re.search(r"-v(\d+)$", suite)
    return int(found[1]) if found else None


def check_scores(path: Path, scores: pd.DataFrame) -> None:
    """Checks scores before they are shown on a leaderboard.

    Args:
        path: the file, for error messages.
        scores: with the columns of SCORES.

    Raises:
        ValueError: there are no rows; a name does not follow the rule of names; a seed is negative;
            a metric is unknown; a task, split or metric
            does not belong to its shipped suite; a value is out of range; a digest does not match
            its protocol; or a score is given twice.
    """
    if not len(scores):
        raise ValueError(f"{path} must have scores, but has no row")
    for column in (*NAMED, *NAMED_IF_GIVEN):
        for name in scores[column].dropna().unique():
            _check_name(path, column, name)
    for column in COUNTED:
        if pd.notna(least := scores[column].min()) and least < 0:
            raise ValueError(f"{path}: {column} must be at least 0, but is {least:g} in a row")
    if unknown := sorted(set(scores["metric"]) - set(METRICS)):
        raise ValueError(f"{path}: {unknown_name('the metric', unknown[0], METRICS)}")
    for suite, rows in scores.groupby("suite"):
        _check_suite(path, str(suite), rows)
    if len(large := scores[scores["value"].abs() > 1]):
        row = large.iloc[0]
        raise ValueError(
            f"{path}: value must be between -1 and 1, but that of {row['arm']} on {row['task']} is "
            f"{row['value']:g}; divide by 100"
        )
    _check_protocols(path, scores)
    if len(twice := scores[scores.duplicated(IDENTITY)]):
        raise ValueError(f"{path}: a score is given twice: {twice[IDENTITY].iloc[0].to_dict()}")


def own_suites(scores: pd.DataFrame) -> list[str]:
    """The suites that are not shipped, such as those of an experiment's own tasks."""
    return sorted(set(scores["suite"]) - set(SUITES))


def _check_name(path: Path, column: str, name: str) -> None:
    try:
        check_name(name)
    except ValueError as error:
        raise ValueError(f"{path}: {column} {error}") from None


def _check_suite(path: Path, name: str, scores: pd.DataFrame) -> None:
    """Checks the tasks, splits and metrics of a shipped suite."""
    versions = [known for known in SUITES if known.startswith(f"{name}-v")]
    if versions and name not in SUITES:
        raise ValueError(f"{path}: {unknown_name('the suite', name, versions)}")
    if name not in SUITES:
        return
    if wrong := set(scores["suite_version"].dropna()) - {suite_version(name)}:
        raise ValueError(
            f"{path}: suite_version of {name} must be {suite_version(name)} or null, but is "
            f"{wrong.pop():g}"
        )
    for task, rows in ((str(task), rows) for task, rows in scores.groupby("task")):
        if task not in SUITES[name].tasks:
            raise ValueError(
                f"{path}: {unknown_name(f'in {name} the task', task, SUITES[name].tasks)}"
            )
        splits = [split.name for split in (*TASKS[task].evaluation, *TASKS[task].test)]
        for column, known in (("split", splits), ("metric", TASKS[task].metrics)):
            if unknown := sorted(set(rows[column]) - set(known)):
                raise ValueError(
                    f"{path}: {unknown_name(f'of {task} the {column}', unknown[0], known)}"
                )


def _check_protocols(path: Path, scores: pd.DataFrame) -> None:
    pairs = scores[["protocol", "protocol_digest"]].drop_duplicates()
    for text, digest in pairs.itertuples(index=False):
        try:
            right = protocol_digest(text)
        except (ValueError, RecursionError):
            raise ValueError(
                f"{path}: protocol must be a JSON object, but is {text[:40]!a}"
            ) from None
        plain = json.dumps(json.loads(text), ensure_ascii=False)
        if not plain.isprintable() or "\\u" in plain:
            raise ValueError(f"{path}: protocol must have no control characters, but is {text!a}")
        if digest != right:
            raise ValueError(
                f"{path}: protocol_digest must be that of the protocol, {right}, but is {digest!r}"
            )
