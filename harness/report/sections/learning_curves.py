"""Learning curves: the suite's average after shares of the pretraining."""

from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.scores import checkpoint_scores_frame, scores_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING, seeds_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.sections.pretraining import pretraining_hours
from harness.report.seed_averages import average_of

COLUMNS = ["arm", "pretrain_seed", "pretrain_fraction", "tokens", "flops", "hours", "average"]


def learning_points(results: Results) -> pd.DataFrame:
    """Average x 100 of each arm, pretraining seed and checkpoint, including the final one, with the
    tokens, FLOPs and hours spent until then: COLUMNS; empty without checkpoints."""
    checkpoints = results.get(checkpoint_scores_frame)
    if checkpoints.empty:
        return pd.DataFrame(columns=COLUMNS)
    ends = results.get(scores_frame).assign(pretrain_fraction=1.0)
    costs, hours = pretraining_costs(results), pretraining_hours(results)
    groups: Any = pd.concat([checkpoints, ends], ignore_index=True).groupby(
        ["arm", "pretrain_seed", "pretrain_fraction"], sort=False
    )
    rows = [
        (
            *(arm, seed, share),
            *(float(share) * float(costs[name].get(arm, np.nan)) for name in ("tokens", "flops")),
            float(share) * float(hours.get((arm, seed), np.nan)),
            average_of(results, scores),
        )
        for (arm, seed, share), scores in groups
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def learning_table(results: Results) -> TextTable:
    """Mean and standard deviation over pretraining seeds: arms by shares of the updates."""
    points = learning_points(results)
    shares = sorted(points["pretrain_fraction"].unique())
    known = points.dropna(subset="average")
    cells = known.groupby(["arm", "pretrain_fraction"])["average"].agg(seeds_cell)
    rows = [
        [arm, *(str(cells.get((arm, share), MISSING)) for share in shares)] for arm in results.arms
    ]
    return TextTable(["arm", *(f"{share:.3g}" for share in shares)], rows if shares else [])
