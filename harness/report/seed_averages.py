"""The suite's average of each pretraining seed."""

from typing import Any

import numpy as np
import pandas as pd

from harness.leaderboard.build import build
from harness.report.data import ReportData


def average_of(data: ReportData, results: pd.DataFrame) -> float:
    """Average x 100 of the rows of one pretraining seed; NaN where a score is missing."""
    table = build(results, data.suite, data.average, tasks=data.tasks)
    average = table.rows[0].average
    return average.mean if average else np.nan


def seed_averages(data: ReportData) -> pd.DataFrame:
    """Columns arm, pretrain_seed, average (x 100)."""
    groups: Any = data.results.groupby(["arm", "pretrain_seed"], sort=False)
    rows = [(*seed, average_of(data, results)) for seed, results in groups]
    return pd.DataFrame(rows, columns=["arm", "pretrain_seed", "average"])
