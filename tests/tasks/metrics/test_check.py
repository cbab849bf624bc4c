"""Metrics of plug-ins that cannot score a task are refused before a run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness.core.errors import MemberError
from harness.tasks import TASKS
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.check import check_metric
from harness.tasks.metrics.metric import counted_metric

SST2 = TASKS["micro-sst2"]


def rows(labels: Any, predictions: Any, groups: Any, names: Any) -> np.ndarray:
    """[num_examples, 2]: whether each is right, and 1."""
    return np.stack([labels == predictions, np.ones(len(labels))], axis=1)


def share(sums: np.ndarray) -> np.ndarray:
    """[...] from [..., 2]."""
    return sums[..., 0] / sums[..., 1]


@pytest.mark.parametrize(
    ("counts", "from_counts", "problem"),
    [
        (lambda *columns: rows(*columns).T, share, "a row for each example or group, but of 6 ex"),
        (rows, lambda sums: share(sums) * np.nan, "return a number for correct predictions, but"),
    ],
)
def test_counts_of_other_units_and_no_score_are_refused(
    counts: Callable[..., Any], from_counts: Callable[..., Any], problem: str
) -> None:
    with pytest.raises(MemberError, match=problem):
        check_metric(counted_metric("own", counts, from_counts), SST2)


def test_shipped_metrics_pass() -> None:
    for name in ("accuracy", "macro_f1", "matthews"):
        check_metric(METRICS[name], SST2)
    for task in ("micro-stsb", "micro-multirc", "micro-retrieval", "micro-ner", "micro-squad"):
        for name in TASKS[task].metrics:
            check_metric(METRICS[name], TASKS[task])
