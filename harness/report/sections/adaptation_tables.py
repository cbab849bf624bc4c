"""What adaptation costs and does, as tables."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.adaptation import (
    adaptation_costs_frame,
    diagnostics_frame,
    label_counts,
    retained_losses_frame,
)
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.finetuning.diagnostics import CHANCE, CHANGED_WORDS, DIAGNOSTICS, STRONGEST
from harness.leaderboard.build import experiment_table
from harness.leaderboard.cells import MISSING, number_cell, seeds_cell
from harness.leaderboard.table import Row, Score
from harness.leaderboard.text_tables import TextTable
from harness.report.run_scores import rows_by

TITLES = {
    "weight_change": "Relative change of the weights",
    "similarity": "Similarity of states (CKA)",
    "gradient_norms": "Norm of the gradient",
    "first_gradient_norms": "Norm of the gradient in the first updates",
    "effective_rank": "Effective rank of the update",
}
"""Diagnostics with a value for each layer, and their titles."""
COUNT_COLUMNS = ["arm", "labels", "column", "pretrain_seed", "score"]


def cost_table(results: Results) -> TextTable:
    """Trained parameters, updates, peak memory and stored bytes of each arm, mean over its runs;
    empty if no run has any of them. The trained share of the network is not shown: its planned
    size may exceed its actual one, because a small corpus yields a smaller vocabulary."""
    costs = results.get(adaptation_costs_frame)
    known = ["trained_parameters", "peak_memory_bytes", "stored_bytes"]
    if costs.empty or costs[known].isna().all(axis=None):
        return TextTable([], [])
    means = costs.groupby("arm")[[*known, "updates"]].mean().reindex(results.arms)
    columns = {
        "trained parameters": (means["trained_parameters"], "{:,.0f}"),
        "updates": (means["updates"], "{:,.0f}"),
        "peak memory, MiB": (means["peak_memory_bytes"] / 2**20, "{:,.1f}"),
        "stored, KiB": (means["stored_bytes"] / 2**10, "{:,.1f}"),
    }
    rows = [
        [arm, *(number_cell(values[arm], form) for values, form in columns.values())]
        for arm in results.arms
    ]
    return TextTable(["arm", *columns], rows)


def count_points(results: Results) -> pd.DataFrame:
    """Score x 100 by arm (without its label count), number of labels, column and pretraining seed;
    `average` is the last column. Empty if no axis varies the number of labels."""
    counts, scores = results.get(label_counts), results.get(scores_frame)
    own = scores[scores["arm"].isin(list(counts))]
    if own.empty:
        return pd.DataFrame(columns=COUNT_COLUMNS)
    keys, found = rows_by(results, own, ["arm", "pretrain_seed"])
    of_seeds = dict(zip(keys.itertuples(index=False, name=None), found, strict=True))
    names, arms = [c.name for c in results.get(experiment_table).columns], list(counts)
    rows = [
        (*counts[arm], name, seed, score.mean if score else np.nan)
        for arm, seed in sorted(of_seeds, key=lambda key: (arms.index(key[0]), key[1]))
        for name, score in _named_scores(of_seeds[arm, seed], names)
    ]
    return pd.DataFrame(rows, columns=COUNT_COLUMNS)


def _named_scores(row: Row, columns: Sequence[str]) -> Iterator[tuple[str, Score | None]]:
    """The name and score of each column of a row of the leaderboard; the average comes last."""
    yield from zip(columns, row.scores, strict=True)
    yield "average", row.average


def count_table(points: pd.DataFrame) -> TextTable:
    """Mean and standard deviation over pretraining seeds: arms and columns by number of labels."""
    counts = sorted(points["labels"].unique())
    cells = points.groupby(["arm", "column", "labels"])["score"].agg(seeds_cell)
    named = dict.fromkeys(zip(points["arm"], points["column"], strict=True))
    rows = [
        [arm, column, *(str(cells.get((arm, column, count), MISSING)) for count in counts)]
        for column in ["average", *(c for c in points["column"].unique() if c != "average")]
        for arm in points["arm"].unique()
        if (arm, column) in named
    ]
    return TextTable(["arm", "column", *(f"{count:,}" for count in counts)], rows, (0, 1))


def layer_means(results: Results, record: str) -> pd.DataFrame:
    """Mean of a diagnostic over tasks and seeds by arm (rows) and layer (columns), bottom layer
    first; empty if no run has it."""
    frame = results.get(diagnostics_frame)
    rows = frame[frame["record"] == record]
    if rows.empty:
        return pd.DataFrame()
    means = rows.groupby(["arm", "layer"], sort=False)["value"].mean().unstack("layer", sort=False)
    return means.reindex([arm for arm in results.arms if arm in means.index])


def layer_tables(means: Mapping[str, pd.DataFrame]) -> dict[str, TextTable]:
    """Title to table of each diagnostic with a value for each layer.

    Args:
        means: name of a diagnostic to its `layer_means`.
    """
    return {
        f"{TITLES[name]}: {DIAGNOSTICS[name]}": _table(frame, "arm", list(frame.columns), "{:.3g}")
        for name, frame in means.items()
    }


def changed_words_table(results: Results) -> TextTable:
    """How often the strongest token is of a changed word, by arm and task, in percent: mean and
    standard deviation over pretraining seeds; without rows if no run has it."""
    frame = results.get(diagnostics_frame)
    own = frame[frame["record"] == CHANGED_WORDS]
    if own.empty:
        return TextTable([], [])
    means = 100 * own.groupby(["arm", "task", "pretrain_seed", "name"])["value"].mean()
    rows = []
    for (arm, task), found in means.unstack("name").groupby(level=["arm", "task"]):
        cells = [seeds_cell(found[name], "{:.1f}") for name in (STRONGEST, CHANCE)]
        rows.append([str(arm), str(task), *cells])
    rows.sort(key=lambda row: results.arms.index(row[0]))
    return TextTable(["arm", "task", "strongest token is of a changed word", "by chance"], rows)


def forgetting_table(scores: pd.DataFrame) -> TextTable:
    """One arm's scores of `forgetting_scores` as a table."""
    return _table(scores, "task", [f"after {step}" for step in scores.columns], "{:.1f}")


def retained_table(results: Results) -> TextTable:
    """Pretraining loss of each arm before the first task and after each task, mean over seeds."""
    frame = results.get(retained_losses_frame)
    if frame.empty:
        return TextTable([], [])
    means = frame.groupby(["arm", "after_task"])["loss"].mean().unstack("after_task")
    means = means.reindex(index=[a for a in results.arms if a in means.index])
    means = means[list(dict.fromkeys(frame["after_task"]))]
    heads = [f"after {step}" if step else "before any task" for step in means.columns]
    return _table(means, "arm", heads, "{:.3f}")


def _table(frame: pd.DataFrame, corner: str, heads: list[str], form: str) -> TextTable:
    """A frame of numbers as text, its index as the first column."""
    rows = [
        [str(name), *(number_cell(value, form) for value in values)]
        for name, values in zip(frame.index, frame.to_numpy(dtype=float), strict=True)
    ]
    return TextTable([corner, *map(str, heads)], rows)
