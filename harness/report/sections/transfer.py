"""Loss of pretraining against what it is for: scores of tasks."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Plot, Section
from harness.report.sections.pretraining import mean_and_spread, shared_runs
from harness.report.seed_averages import seed_averages

WHAT_A_LOSS_IS_OF = (
    "pretrain.objective",
    "pretrain.tokenizer",
    "pretrain.corpus",
    "pretrain.packing",
)
"""Fields in which arms must agree for their losses to be compared."""
ENOUGH_RUNS = 5
"""Pretrainings from which on a rank correlation is told."""
NOTE = (
    "Loss on held-out text at the end of pretraining beside the average over the suite, mean ± "
    "standard deviation over pretraining seeds. Losses are comparable among arms of one group "
    "alone: those with the same objective, vocabulary, corpus and packing. Of arms that start from "
    "the same checkpoints only the first is taken, for they have one loss between them; what was "
    "not pretrained at all is left out, for its loss is far above all others."
)
CAPTION = (
    "Average by held-out loss, a dot for each pretraining seed; a panel for each group of arms "
    "whose losses are comparable. To the right are lower losses."
)


def comparable(results: Results) -> list[list[str]]:
    """Arms in groups whose losses are of the same task: equal in the fields above."""
    fields = [
        of for path, of in results.plan.differences.items() if path.startswith(WHAT_A_LOSS_IS_OF)
    ]
    groups: dict[str, list[str]] = {}
    for arm in results.arms:
        groups.setdefault(repr([of.get(arm) for of in fields]), []).append(arm)
    return list(groups.values())


def transfer_points(results: Results) -> pd.DataFrame:
    """Columns group (from 1), arm, pretrain_seed, loss, average (x 100): of each pretraining that
    tells its loss, of the groups with several of them; those of no tokens are none."""
    runs = results.get(pretrain_runs_frame).merge(
        seed_averages(results), on=["arm", "pretrain_seed"]
    )
    runs = runs.dropna(subset=["loss", "average"])
    runs = runs[runs["arm"].isin([arms[0] for arms in shared_runs(results).values()])]
    costs = results.get(costs_frame)[results.get(costs_frame)["stage"] == "pretrain"]
    runs = runs[~runs["arm"].isin(costs["arm"][costs["tokens"] == 0])]
    groups = [runs[runs["arm"].isin(group)] for group in comparable(results)]
    several = [group for group in groups if group["arm"].nunique() > 1]
    frames = [group.assign(group=number) for number, group in enumerate(several, start=1)]
    columns = ["group", "arm", "pretrain_seed", "loss", "average"]
    return pd.concat(frames)[columns] if frames else pd.DataFrame(columns=columns)


def transfer(results: Results) -> Section | None:
    """The section; null without two pretrainings whose losses are comparable."""
    from harness.report.figures.transfer import loss_and_score

    points = transfer_points(results)
    if points.empty:
        return None
    notes = [NOTE, *_correlations(points)]
    plots = {"transfer": Plot(loss_and_score(points, results.arms), CAPTION)}
    return Section(
        "Pretraining loss against scores", notes, plots, {"": _grid(points, results.arms)}
    )


def _correlations(points: pd.DataFrame) -> list[str]:
    """A sentence for each group of enough pretrainings."""
    found = []
    for group, runs in points.groupby("group"):
        if len(runs) >= ENOUGH_RUNS and runs["loss"].nunique() > 1 < runs["average"].nunique():
            rank = float(spearmanr(runs["loss"], runs["average"])[0])
            found.append(
                f"Group {group}: the rank correlation of loss and average over {len(runs)} "
                f"pretrainings is {rank:.2f}; -1 is a lower loss always with a higher average."
            )
    return found


def _grid(points: pd.DataFrame, arms: Sequence[str]) -> TextTable:
    rows = []
    for arm in arms:
        own = points[points["arm"] == arm]
        if len(own):
            figures = mean_and_spread(own["loss"], ".3f"), mean_and_spread(own["average"], ".1f")
            rows.append([arm, str(np.unique(own["group"])[0]), *figures])
    return TextTable(["arm", "group", "held-out loss", "average"], rows)
