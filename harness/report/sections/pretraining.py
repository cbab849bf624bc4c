"""Losses and costs of pretraining, and the section on continued pretraining."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import same_checkpoints
from harness.analysis.frames.continued_pretraining import continued_losses_frame
from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.runs import (
    curves_frame,
    pretrain_runs_frame,
    source_losses_frame,
)
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING, number_cell, seeds_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Section

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of a run's tokens after which the table shows its loss."""
FEW_NAMES = 3
"""Up to this number, all arms that share a pretrained model are named."""
CURVE_COLUMNS = ["run", "pretrain_seed", "step", "tokens", "flops", "hours", "loss"]

FORMATS = {"parameters": "{:,.0f}", "tokens": "{:,.0f}", "flops": "{:.2e}"}
CONTINUED_NOTE = (
    "Loss per token on held-out text before and after each run of continued pretraining, mean over "
    "pretraining seeds (Gururangan et al. 2020, table 1): on the new text, and on the original "
    "pretraining text, where an increase measures forgetting. Losses on different texts or under "
    "different objectives are not comparable."
)
CONTINUED_HEAD = ["arm", "text", "before", "after", "original text before", "original text after"]
LOSSES = ["loss_before", "loss_after", "pretrain_loss_before", "pretrain_loss_after"]


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
    points, runs = results.get(curve_points), results.get(pretrain_runs_frame)
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
        found += [seeds_cell(end[runs["arm"] == first], "{:.3f}") for end in ends.values()]
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


def source_losses_table(results: Results) -> TextTable:
    """Held-out loss at the end by source of a mixture: mean and standard deviation over seeds."""
    losses = results.get(source_losses_frame).dropna(subset="loss")
    sources = list(losses["source"].unique())
    rows = []
    for name, (first, *_) in shared_runs(results).items():
        own = losses[losses["arm"] == first]
        found = [seeds_cell(own.loc[own["source"] == one, "loss"], "{:.3f}") for one in sources]
        if len(own):
            rows.append([name, *found])
    return TextTable(["arm", *sources], rows)


def pretraining_table(results: Results) -> TextTable:
    """Planned parameters, tokens and FLOPs of one pretraining seed; arms that share a pretraining
    run share a row."""
    known = bool(results.plan.vocab_sizes)
    counted = "with the learned vocabulary" if known else "with the declared vocabulary size"
    costs = pretraining_costs(results)
    firsts = {name: arms[0] for name, arms in shared_runs(results).items()}
    others = {str(name): str(name) for name in costs.index if name not in results.arms}
    rows = [
        [name, *(number_cell(costs[key].get(arm), form) for key, form in FORMATS.items())]
        for name, arm in {**firsts, **others}.items()
    ]
    return TextTable(["arm", f"parameters ({counted})", "tokens", f"FLOPs ({counted})"], rows)


def continued_pretraining_section(results: Results) -> Section | None:
    """Held-out losses before and after each run of continued pretraining."""
    table = losses_table(results.get(continued_losses_frame))
    return (
        Section("Continued pretraining", [CONTINUED_NOTE], tables={"": table})
        if table.rows
        else None
    )


def losses_table(losses: pd.DataFrame) -> TextTable:
    """One row per arm and text.

    Args:
        losses: result of `continued_losses_frame`.
    """
    if losses.empty:
        return TextTable(CONTINUED_HEAD, [])
    runs = losses.drop_duplicates(["arm", "key"]).groupby(["arm", "step", "corpus"], sort=False)
    # A missing seed leaves its cell empty: the others would be a mean of fewer seeds.
    means = runs[LOSSES].mean(skipna=False)
    rows = [
        [str(arm), str(corpus), *(number_cell(loss, "{:.3f}") for loss in found)]
        for (arm, _, corpus), *found in means.itertuples(name=None)
    ]
    return TextTable(CONTINUED_HEAD, rows, text_columns=(0, 1))
