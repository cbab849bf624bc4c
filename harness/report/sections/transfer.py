"""The section on pretraining loss against downstream scores."""

from collections.abc import Sequence

import pandas as pd
from scipy.stats import spearmanr

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import seeds_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.figures.pretraining import loss_and_score
from harness.report.layout import Plot, Section
from harness.report.run_scores import seed_averages
from harness.report.sections.pretraining import shared_runs

LOSS_FIELDS = (
    "pretrain.objective",
    "pretrain.tokenizer",
    "pretrain.corpus",
    "pretrain.packing",
)
"""Fields that must be equal for the losses of two arms to be comparable."""
ENOUGH_RUNS = 5
"""Pretraining runs from which on a rank correlation is reported."""
NOTE = (
    "Held-out loss at the end of pretraining and average over the suite, mean ± standard deviation "
    "over pretraining seeds. Losses are comparable only within a group of arms with the same "
    "objective, vocabulary, corpus and packing. Of arms that start from the same checkpoints only "
    "the first is included, because they share one loss. Models without pretraining are omitted, "
    "because their loss is far above all others."
)
CAPTION = (
    "Average by held-out loss, one dot per pretraining seed and one panel per group of arms with "
    "comparable losses. The loss decreases to the right."
)


def comparable(results: Results) -> list[list[str]]:
    """Groups of arms with comparable losses: equal in LOSS_FIELDS."""
    fields = [of for path, of in results.plan.differences.items() if path.startswith(LOSS_FIELDS)]
    groups: dict[str, list[str]] = {}
    for arm in results.arms:
        groups.setdefault(repr([of.get(arm) for of in fields]), []).append(arm)
    return list(groups.values())


def transfer_points(results: Results) -> pd.DataFrame:
    """Columns group (from 1), arm, pretrain_seed, loss, average (x 100): every pretraining run with
    a known loss and at least one token, in groups of at least two arms."""
    runs = results.get(pretrain_runs_frame).merge(
        seed_averages(results), on=["arm", "pretrain_seed"]
    )
    runs = runs.dropna(subset=["loss", "average"])
    runs = runs[runs["arm"].isin([arms[0] for arms in shared_runs(results).values()])]
    tokens = pretraining_costs(results)["tokens"]
    runs = runs[~runs["arm"].isin(tokens.index[tokens == 0])]
    groups = [runs[runs["arm"].isin(group)] for group in comparable(results)]
    several = [group for group in groups if group["arm"].nunique() > 1]
    frames = [group.assign(group=number) for number, group in enumerate(several, start=1)]
    columns = ["group", "arm", "pretrain_seed", "loss", "average"]
    return pd.concat(frames)[columns] if frames else pd.DataFrame(columns=columns)


def transfer_section(results: Results) -> Section | None:
    """Losses and averages; null without two arms whose losses are comparable."""
    points = transfer_points(results)
    if points.empty:
        return None
    notes = [NOTE, *_correlations(points)]
    plots = {"transfer": Plot(loss_and_score(points, results.arms), CAPTION)}
    table = _table(points, results.arms)
    return Section("Pretraining loss against scores", notes, plots, {"": table})


def _correlations(points: pd.DataFrame) -> list[str]:
    """One sentence for each group with enough pretraining runs."""
    found = []
    for group, runs in points.groupby("group"):
        if len(runs) >= ENOUGH_RUNS and runs["loss"].nunique() > 1 < runs["average"].nunique():
            rank = float(spearmanr(runs["loss"], runs["average"])[0])
            found.append(
                f"Group {group}: Spearman's rank correlation of loss and average over {len(runs)} "
                f"pretraining runs is {rank:.2f} (-1: lower losses always have higher averages)."
            )
    return found


def _table(points: pd.DataFrame, arms: Sequence[str]) -> TextTable:
    rows = []
    for arm in arms:
        own = points[points["arm"] == arm]
        if len(own):
            cells = seeds_cell(own["loss"], "{:.3f}"), seeds_cell(own["average"])
            rows.append([arm, str(own["group"].iloc[0]), *cells])
    return TextTable(["arm", "group", "held-out loss", "average"], rows)
