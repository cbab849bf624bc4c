"""Pretraining in the report: its loss on the way, by what it cost until then."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from harness.analysis.comparison.differences import same_checkpoints
from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.runs import curves_frame, pretrain_runs_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of the tokens of a run, at which the table shows its loss."""
FEW_NAMES = 3
"""Arms that share a pretrained model and are all named, at most."""
CURVE_COLUMNS = ["run", "pretrain_seed", "step", "tokens", "flops", "hours", "loss"]


def shared_runs(results: Results) -> dict[str, Sequence[str]]:
    """What a pretraining is called to the arms that start from it, the first of them first."""
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
    return {_called(group): group for group in groups}


def _called(arms: Sequence[str]) -> str:
    if len(arms) <= FEW_NAMES:
        return ", ".join(arms)
    return f"{arms[0]} and {len(arms) - 1} more"


def pretraining_hours(results: Results) -> "pd.Series[float]":
    """Hours that a pretraining took, by arm and pretraining seed."""
    runs = results.get(pretrain_runs_frame).set_index(["arm", "pretrain_seed"])
    return runs["seconds"].astype(float) / 3600


def curve_points(results: Results) -> pd.DataFrame:
    """Training loss of each pretraining and seed by tokens, FLOPs and hours: the last two in
    proportion to the tokens; NaN where the whole is not known."""
    whole = pretraining_hours(results)
    costs = (
        results.get(costs_frame)[results.get(costs_frame)["stage"] == "pretrain"]
        .set_index("arm")["flops"]
        .astype(float)
    )
    curves = results.get(curves_frame).astype(
        {"tokens": float, "loss": float}
    )  # not so beside empty ones
    frames = []
    for name, (first, *_) in shared_runs(results).items():
        for seed, curve in curves[curves["arm"] == first].groupby("pretrain_seed"):
            done = curve["tokens"] / curve["tokens"].max()
            hours = done * float(whole.get((first, seed), np.nan))
            flops = done * float(costs.get(first, np.nan))
            frames.append(curve.assign(run=name, flops=flops, hours=hours))
    return pd.concat(frames)[CURVE_COLUMNS] if frames else pd.DataFrame(columns=CURVE_COLUMNS)


def loss_table(results: Results) -> TextTable:
    """Training loss after shares of the tokens, held-out loss at the end: mean and standard
    deviation over seeds."""
    points = curve_points(results)
    ends = {
        "held-out loss": results.get(pretrain_runs_frame)["loss"].astype(float),
        "held-out bits a byte": results.get(pretrain_runs_frame)["bits_per_byte"].astype(float),
    }
    ends = {title: values for title, values in ends.items() if values.notna().any()}
    if points.empty and not ends:
        return TextTable([], [])
    rows = []
    for name, (first, *_) in shared_runs(results).items():
        found = _along(points[points["run"] == name])
        own = results.get(pretrain_runs_frame)["arm"] == first
        found += [mean_and_spread(values[own]) for values in ends.values()]
        if set(found) != {MISSING}:  # as of a baseline
            rows.append([name, *found])
    return TextTable(["arm", *(f"{100 * share:.0f} %" for share in SHARES), *ends], rows)


def _along(points: pd.DataFrame) -> list[str]:
    seeds = [curve for _, curve in points.groupby("pretrain_seed")]
    return [
        mean_and_spread(
            [np.interp(share * c["tokens"].max(), c["tokens"], c["loss"]) for c in seeds]
        )
        for share in SHARES
    ]


def mean_and_spread(values: ArrayLike, form: str = ".2f") -> str:
    """`2.31 ± 0.04`, the sample standard deviation behind the mean; a null makes it null."""
    array = np.asarray(values, dtype=float)
    if not len(array) or np.isnan(array).any():
        return MISSING
    mean = f"{array.mean():{form}}"
    return mean if len(array) < 2 else f"{mean} ± {array.std(ddof=1):{form}}"


def known_costs(points: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns of `points` that say anything."""
    return [name for name in names if len(points) and points[name].astype(float).gt(0).any()]
