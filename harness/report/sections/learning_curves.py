"""What is learned along the way: the suite's average after shares of the pretraining."""

from typing import Any

import numpy as np
import pandas as pd

from harness.leaderboard.cells import MISSING
from harness.report.data import ReportData
from harness.report.layout import Grid
from harness.report.sections.pretraining import pretraining_hours
from harness.report.seed_averages import average_of

COLUMNS = ["arm", "pretrain_seed", "checkpoint", "tokens", "flops", "hours", "average"]


def learning_points(data: ReportData) -> pd.DataFrame:
    """Average x 100 of each arm, pretraining seed and checkpoint, the end among them, with the
    tokens, FLOPs and hours behind it; empty without checkpoints."""
    if data.checkpoints.empty:
        return pd.DataFrame(columns=COLUMNS)
    whole = pd.concat([data.checkpoints, data.results.assign(checkpoint=1.0)], ignore_index=True)
    costs = data.costs[data.costs["stage"] == "pretrain"].set_index("arm")
    hours = pretraining_hours(data)
    groups: Any = whole.groupby(["arm", "pretrain_seed", "checkpoint"], sort=False)
    rows = [
        (
            *(arm, seed, share),
            *(float(share) * float(costs[name].get(arm, np.nan)) for name in ("tokens", "flops")),
            float(share) * float(hours.get((arm, seed), np.nan)),
            average_of(data, results),
        )
        for (arm, seed, share), results in groups
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def learning_table(data: ReportData) -> Grid:
    """Mean and standard deviation over pretraining seeds, arms by shares of the updates."""
    points = learning_points(data)
    shares = sorted(points["checkpoint"].unique())
    cells = points.groupby(["arm", "checkpoint"])["average"].agg(["mean", "std"])
    rows = [[arm, *(_cell(cells, arm, share) for share in shares)] for arm in data.arms]
    return Grid(["arm", *(f"{share:.3g}" for share in shares)], rows if shares else [])


def _cell(cells: pd.DataFrame, arm: str, share: float) -> str:
    found = {(str(a), float(s)): (mean, spread) for (a, s), mean, spread in cells.itertuples()}
    if (arm, share) not in found:
        return MISSING
    mean, spread = found[arm, share]
    return f"{mean:.1f}" + ("" if np.isnan(spread) else f" ± {spread:.1f}")
