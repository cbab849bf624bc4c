"""Losses during pretraining, by the cost spent until then."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import same_checkpoints
from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.runs import curves_frame, pretrain_runs_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING, seeds_cell
from harness.leaderboard.text_tables import TextTable

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of a run's tokens after which the table shows its loss."""
FEW_NAMES = 3
"""Up to this number, all arms that share a pretrained model are named."""
CURVE_COLUMNS = ["run", "pretrain_seed", "step", "tokens", "flops", "hours", "loss"]


def shared_runs(results: Results) -> dict[str, Sequence[str]]:
    """Name of each pretraining run to the arms that start from it, in their order."""
    same = same_checkpoints(results.plan.differences)
    groups: list[list[str]] = []
    for arm in results.arms:
        group = next((group for group in groups if same(group[0], arm)), None)
        if group is None:
            groups.append([arm])
        else:
            group.append(arm)
    if len(groups) == 1 and len(results.arms) > 1:
        return {"all arms": groups[0]}
    return {_run_name(group): group for group in groups}


def _run_name(arms: Sequence[str]) -> str:
    if len(arms) <= FEW_NAMES:
        return ", ".join(arms)
    return f"{arms[0]} and {len(arms) - 1} more"


def pretraining_hours(results: Results) -> "pd.Series[float]":
    """Hours of each pretraining run, by arm and pretraining seed."""
    runs = results.get(pretrain_runs_frame).set_index(["arm", "pretrain_seed"])
    return runs["seconds"].astype(float) / 3600


def curve_points(results: Results) -> pd.DataFrame:
    """Training loss of each pretraining run and seed: CURVE_COLUMNS. FLOPs and hours are
    proportional to the tokens; NaN if the total is unknown."""
    hours, costs = pretraining_hours(results), pretraining_costs(results)
    curves = results.get(curves_frame).astype({"tokens": float, "loss": float})
    frames = []
    for name, (first, *_) in shared_runs(results).items():
        for seed, curve in curves[curves["arm"] == first].groupby("pretrain_seed"):
            done = curve["tokens"] / curve["tokens"].max()
            spent = {
                "flops": done * float(costs["flops"].get(first, np.nan)),
                "hours": done * float(hours.get((first, seed), np.nan)),
            }
            frames.append(curve.assign(run=name, **spent))
    return pd.concat(frames)[CURVE_COLUMNS] if frames else pd.DataFrame(columns=CURVE_COLUMNS)


def loss_table(results: Results) -> TextTable:
    """Training loss after shares of the tokens and held-out loss at the end: mean and standard
    deviation over seeds."""
    points, runs = curve_points(results), results.get(pretrain_runs_frame)
    ends = {
        "held-out loss": runs["loss"].astype(float),
        "held-out bits per byte": runs["bits_per_byte"].astype(float),
    }
    ends = {title: values for title, values in ends.items() if values.notna().any()}
    if points.empty and not ends:
        return TextTable([], [])
    rows = []
    for name, (first, *_) in shared_runs(results).items():
        found = _loss_cells(points[points["run"] == name])
        found += [seeds_cell(end[runs["arm"] == first], "{:.2f}") for end in ends.values()]
        if set(found) != {MISSING}:  # such as a baseline
            rows.append([name, *found])
    return TextTable(["arm", *(f"{100 * share:.0f} %" for share in SHARES), *ends], rows)


def _loss_cells(points: pd.DataFrame) -> list[str]:
    """The loss of one run after each of SHARES."""
    seeds = [curve for _, curve in points.groupby("pretrain_seed")]
    return [
        seeds_cell(
            [np.interp(share * c["tokens"].max(), c["tokens"], c["loss"]) for c in seeds], "{:.2f}"
        )
        for share in SHARES
    ]
