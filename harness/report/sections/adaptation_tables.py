"""What the ways of adapting cost and do, as the sections of a report that has something of each."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.adaptation import (
    adaptation_costs_frame,
    diagnostics_frame,
    label_counts,
    retained_losses_frame,
)
from harness.analysis.frames.scores import scores_frame, sequential_scores_frame
from harness.analysis.results import Results
from harness.finetuning.diagnostics import DIAGNOSTICS
from harness.leaderboard.build import build
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.tasks.task import Task

BY_LAYER = ("weight_change", "similarity", "gradient_norms", "effective_rank")
TITLES = {
    "weight_change": "Relative change of the weights",
    "similarity": "Similarity of states (CKA)",
    "gradient_norms": "Norm of the gradient",
    "effective_rank": "Effective rank of the update",
}
COUNT_COLUMNS = ["arm", "labels", "column", "pretrain_seed", "score"]


def cost_table(results: Results) -> TextTable:
    """An arm's trained parameters, updates, most memory and stored bytes, mean over its runs; empty
    where no run says any of it. How much of the network is trained is not known: of the network
    there is but a plan, and it may learn fewer entries of a vocabulary than were asked for."""
    costs = results.get(adaptation_costs_frame)
    known = ["trained_parameters", "peak_memory_bytes", "stored_bytes"]
    if costs.empty or costs[known].isna().all(axis=None):
        return TextTable([], [])
    means = costs.groupby("arm")[[*known, "updates"]].mean()
    rows = []
    for arm in results.arms:
        mean = {name: float(means[name].get(arm, np.nan)) for name in means.columns}
        rows.append(
            [
                arm,
                _figure(mean["trained_parameters"], "{:,.0f}"),
                _figure(mean["updates"], "{:,.0f}"),
                _figure(mean["peak_memory_bytes"] / 2**20, "{:,.1f}"),
                _figure(mean["stored_bytes"] / 2**10, "{:,.1f}"),
            ]
        )
    head = ["arm", "trained parameters", "updates", "peak memory, MiB", "stored, KiB"]
    return TextTable(head, rows)


def _figure(value: float, form: str) -> str:
    return form.format(value) if np.isfinite(value) else MISSING


def count_points(results: Results) -> pd.DataFrame:
    """Score x 100 by arm (without its label count), number of labels, column and pretraining seed;
    `average` is the last column. Empty where no axis varies the labels."""
    rows, scores = [], results.get(scores_frame)
    for arm, (rest, labels) in results.get(label_counts).items():
        for seed, own in scores[scores["arm"] == arm].groupby("pretrain_seed"):
            table = build(own, results.suite, tasks=results.experiment.evaluate.tasks)
            cells = zip([c.name for c in table.columns], table.rows[0].scores, strict=True)
            for column, score in (*cells, ("average", table.rows[0].average)):
                rows.append((rest, labels, column, seed, score.mean if score else np.nan))
    return pd.DataFrame(rows, columns=COUNT_COLUMNS)


def count_table(points: pd.DataFrame) -> TextTable:
    """Arms and columns by number of labels: mean and spread over pretraining seeds."""
    counts = sorted(points["labels"].unique())
    cells = points.groupby(["arm", "column", "labels"])["score"].agg(_mean_and_spread)
    named = dict.fromkeys(zip(points["arm"], points["column"], strict=True))
    rows = [
        [arm, column, *(str(cells.get((arm, column, count), MISSING)) for count in counts)]
        for column in ["average", *(c for c in points["column"].unique() if c != "average")]
        for arm in points["arm"].unique()
        if (arm, column) in named
    ]
    return TextTable(
        ["arm", "column", *(f"{count:,}" for count in counts)], rows, text_columns=(0, 1)
    )


def _mean_and_spread(scores: pd.Series) -> str:
    mean, spread = scores.mean(skipna=False), scores.std()
    if np.isnan(mean):
        return MISSING
    return f"{mean:.1f}" + ("" if np.isnan(spread) else f" ± {spread:.1f}")


def layer_means(results: Results, record: str) -> pd.DataFrame:
    """Mean over tasks and seeds of a record by arm (rows) and layer (columns), each in order."""
    if results.get(diagnostics_frame).empty or record not in set(
        results.get(diagnostics_frame)["record"]
    ):
        return pd.DataFrame()
    rows = results.get(diagnostics_frame)[results.get(diagnostics_frame)["record"] == record]
    means = rows.groupby(["arm", "layer"], sort=False)["value"].mean().unstack("layer", sort=False)
    return means.reindex([arm for arm in results.arms if arm in means.index])


def layer_tables(results: Results) -> Mapping[str, TextTable]:
    """Title to table of each record that is there."""
    tables = {}
    for record in BY_LAYER:
        means = layer_means(results, record)
        if len(means):
            rows = [
                [str(arm), *(_figure(v, "{:.3g}") for v in values)]
                for arm, values in zip(means.index, means.to_numpy(), strict=True)
            ]
            title = f"{TITLES[record]}: {DIAGNOSTICS[record]}"
            tables[title] = TextTable(["arm", *map(str, means.columns)], rows)
    return tables


def forgetting_scores(results: Results, tasks: Mapping[str, Task]) -> dict[str, pd.DataFrame]:
    """Arm to main score x 100 of each task (rows) after each step (columns), mean over seeds; NaN
    before it was learned."""
    frame = results.get(sequential_scores_frame)
    found = {}
    for arm in results.arms if len(frame) else ():
        rows = frame[frame["arm"] == arm]
        if len(rows):
            main = [
                metric == tasks[task].metrics[0] and split == tasks[task].evaluation[0].name
                for task, split, metric in zip(rows.task, rows.split, rows.metric, strict=True)
            ]
            means = 100 * rows[main].groupby(["task", "after_task"])["value"].mean().unstack(
                "after_task"
            )
            order = list(dict.fromkeys(rows["after_task"]))
            found[arm] = means.reindex(index=order, columns=order)
    return found


def average_forgetting(scores: pd.DataFrame) -> float:
    """Mean over all tasks but the last of the best score before the last step less the last score
    (Chaudhry et al. 2018, section 3.1)."""
    earlier = scores.iloc[:-1]
    drops = earlier.iloc[:, :-1].max(axis=1) - earlier.iloc[:, -1]
    return float(drops.mean(skipna=False)) if len(drops) else np.nan


def forgetting_table(scores: pd.DataFrame) -> TextTable:
    rows = [
        [str(task), *(_figure(v, "{:.1f}") for v in values)]
        for task, values in zip(scores.index, scores.to_numpy(), strict=True)
    ]
    return TextTable(["task", *(f"after {step}" for step in scores.columns)], rows)


def retained_table(results: Results) -> TextTable:
    """Loss of the pretraining of each arm before any task and after each, mean over seeds."""
    frame = results.get(retained_losses_frame)
    if not len(frame):
        return TextTable([], [])
    means = frame.groupby(["arm", "after_task"])["loss"].mean().unstack("after_task")
    means = means.reindex(index=[a for a in results.arms if a in means.index])
    means = means[list(dict.fromkeys(frame["after_task"]))]
    rows = [
        [str(arm), *(_figure(v, "{:.3f}") for v in values)]
        for arm, values in zip(means.index, means.to_numpy(), strict=True)
    ]
    heads = [f"after {step}" if step else "before any task" for step in means.columns]
    return TextTable(["arm", *heads], rows)


def plain_layers(columns: Sequence[str]) -> list[str]:
    """Embeddings and layers: what is drawn, for a new head starts from random weights."""
    return [column for column in columns if column != "head"]
