"""Sections on the course of pretraining: losses and averages by tokens and FLOPs, and by hours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.scores import checkpoint_scores_frame, scores_frame
from harness.analysis.results import Results
from harness.analysis.seed_scores import run_scores
from harness.experiment.outcomes import Loss
from harness.leaderboard.build import experiment_table
from harness.leaderboard.cells import MISSING, seeds_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.difference_tables import FEW_ROWS
from harness.report.figures.pretraining import (
    learning_curves,
    loss_curves,
    loss_rows,
    task_curves,
)
from harness.report.layout import Plot, Section
from harness.report.run_scores import averages
from harness.report.sections.learning_thresholds import (
    THRESHOLDS,
    THRESHOLDS_NOTE,
    thresholds_of,
)
from harness.report.sections.loss_differences import (
    BITS_DIFFERENCES,
    BITS_NOTE,
    DIFFERENCES,
    differences_note,
    loss_differences_table,
)
from harness.report.sections.pretraining import (
    curve_points,
    loss_table,
    pretraining_hours,
    source_losses_table,
)
from harness.report.sections.probe_curves import along_the_way
from harness.report.sections.transfer import comparable_runs

LOSS_NOTE = (
    "Training loss after each share of the tokens and held-out loss at the end, in nats per "
    "predicted token, mean ± standard deviation over pretraining seeds. Training losses, each at "
    "the arm's own corruption, do not compare between objectives or mask rates. Held-out losses do "
    "between arms with one vocabulary, output and representation: their corruption is the same."
)
SUM_NOTE = (
    "Where a model learns from several losses (of pairs, of span boundaries, of both directions, "
    "of a generator and its detector, of a teacher), the training loss is their weighted sum, and "
    "the held-out loss that of the tokens alone."
)
LEARNING_NOTE = (
    "Average after each share of the updates, mean ± standard deviation over pretraining seeds. "
    "Curves by time depend on the machine; they are under Cost."
)
LOSS_CAPTION = (
    "Training loss by tokens and by FLOPs: pretraining seeds as thin lines, their mean in bold. "
    "FLOPs of a part of a run are proportional to its tokens."
)
GROUPS_CAPTION = (
    "Arms whose held-out losses are comparable share panels; those comparable with no other are in "
    "the last ones."
)
LEARNING_CAPTION = (
    "Average over the suite by tokens and by FLOPs: pretraining seeds as dots, their mean as a "
    "line. Connected dots are checkpoints of one run; a separate run ends at its last dot. The "
    "average of a network without pretraining is a horizontal line."
)
TASKS_CAPTION = (
    "Score x 100 of each task by tokens, mean over seeds, with bars from the lowest to the highest "
    "pretraining seed."
)
BY_SOURCE = "Held-out loss by source of the text"
HOURS_CAPTION = "by time of pretraining on the machine that ran it, proportional to the tokens."

SEED = ["arm", "pretrain_seed", "pretrain_fraction"]
TASK_COLUMNS = ["arm", "column", "pretrain_seed", "tokens", "score"]
COLUMNS = ["arm", "pretrain_seed", "pretrain_fraction", "tokens", "flops", "hours", "average"]


def loss_section(results: Results) -> Section | None:
    """Loss curves, and the losses after shares of the tokens."""
    table = loss_table(results)
    points = results.get(curve_points)
    rows = _rows(results, points)
    svg = loss_curves(points, rows, _known(points, ("tokens", "flops")), "loss")
    if not table.rows:
        return None
    caption = f"{LOSS_CAPTION} {GROUPS_CAPTION}" if len(rows) > 1 else LOSS_CAPTION
    plots = {"loss": Plot(svg, caption)} if svg else {}
    notes, tables = [LOSS_NOTE, *([SUM_NOTE] if _has_sums(results) else [])], {"": table}
    folded: dict[str, TextTable] = {}
    if (sources := source_losses_table(results)).rows:
        tables[BY_SOURCE] = sources
    shown: list[tuple[str, str, Loss]] = [
        (DIFFERENCES, differences_note(results), "loss"),
        (BITS_DIFFERENCES, BITS_NOTE, "bits_per_byte"),
    ]
    for title, note, outcome in shown:
        if (differences := loss_differences_table(results, outcome)).rows:
            notes.append(note)
            (tables if len(differences.rows) <= FEW_ROWS else folded)[title] = differences
    return Section("Loss curves", notes, plots, tables, folded)


def _has_sums(results: Results) -> bool:
    """Whether the training loss of some pretrained arm is a sum of several."""
    trained = (arm.pretrain for arm in results.plan.arms if not arm.pretrain.budget.is_zero)
    parts = (part for run in trained for _, part in run.objective.components)
    return any(part.has_several_losses for part in parts)


def learning_section(results: Results) -> Section | None:
    """Averages of checkpoints during pretraining."""
    points = results.get(learning_points).rename(columns={"arm": "run"})
    costs = _known(points, ("tokens", "flops"))
    svg = learning_curves(points, results.arms, costs, "learning")
    if svg is None:
        return None
    plots = {"learning": Plot(svg, LEARNING_CAPTION)}
    if by_task := task_curves(results.get(task_points), results.arms):
        plots["learning_tasks"] = Plot(by_task, TASKS_CAPTION)
    notes, tables = [LEARNING_NOTE], {"": learning_table(results)}
    if (thresholds := thresholds_table(results)).rows:
        notes.append(THRESHOLDS_NOTE)
        tables[THRESHOLDS] = thresholds
    more, thresholds_of_probes = along_the_way(results)
    plots, tables = plots | more, tables | thresholds_of_probes
    return Section("Learning curves", notes, plots, tables)


def hours(results: Results) -> dict[str, Plot]:
    """File name to figure of the same curves by hours, which depend on the machine."""
    points = results.get(curve_points)
    averages = results.get(learning_points).rename(columns={"arm": "run"})
    loss = loss_curves(points, _rows(results, points), _known(points, ["hours"]), "loss_hours")
    known = _known(averages, ["hours"])
    average = learning_curves(averages, results.arms, known, "learning_hours")
    plots = {"loss_hours": Plot(loss, f"Loss {HOURS_CAPTION}")} if loss else {}
    if average:
        plots["learning_hours"] = Plot(average, f"Average {HOURS_CAPTION}")
    return plots


def _rows(results: Results, points: pd.DataFrame) -> dict[str, list[str]]:
    """Title of each row of panels of losses to its runs."""
    return loss_rows(list(points["run"].unique()), comparable_runs(results))


def _known(points: pd.DataFrame, costs: Sequence[str]) -> list[str]:
    """The costs that are known and above zero for some point."""
    return [name for name in costs if len(points) and points[name].astype(float).gt(0).any()]


def learning_points(results: Results) -> pd.DataFrame:
    """Average x 100 of each arm, pretraining seed and checkpoint, including the final one, with the
    tokens, FLOPs and hours spent until then: COLUMNS; empty without checkpoints."""
    costs, hours = pretraining_costs(results), pretraining_hours(results)
    found: Any = averages(results, _along_the_way(results), SEED)
    rows = [
        (
            *(arm, seed, share),
            *(float(share) * float(costs[name].get(arm, np.nan)) for name in ("tokens", "flops")),
            float(share) * float(hours.get((arm, seed), np.nan)),
            average,
        )
        for arm, seed, share, average in found.itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _along_the_way(results: Results) -> pd.DataFrame:
    """Scores of checkpoints and of the final networks, with their `pretrain_fraction`; empty
    without checkpoints."""
    checkpoints = results.get(checkpoint_scores_frame)
    if checkpoints.empty:
        return checkpoints
    ends = results.get(scores_frame).assign(pretrain_fraction=1.0)
    return pd.concat([checkpoints, ends], ignore_index=True)


def task_points(results: Results) -> pd.DataFrame:
    """Score x 100 of each arm, column, pretraining seed and checkpoint, mean over fine-tuning
    seeds, NaN if one of them has none: TASK_COLUMNS; empty without checkpoints."""
    scores, tokens = _along_the_way(results), pretraining_costs(results)["tokens"]
    frames = [
        run_scores(scores, column, [*SEED, "finetune_seed"])
        .groupby(SEED, sort=False)
        .mean(skipna=False)
        .rename("score")
        .reset_index()
        .assign(column=column.name)
        for column in (results.get(experiment_table).columns if len(scores) else ())
    ]
    if not frames:
        return pd.DataFrame(columns=TASK_COLUMNS)
    points = pd.concat(frames, ignore_index=True)
    spent = points["pretrain_fraction"].astype(float) * points["arm"].map(tokens)
    return points.assign(tokens=spent)[TASK_COLUMNS]


def thresholds_table(results: Results) -> TextTable:
    """Tokens from which on each arm exceeds its untrained network, by column and in the average; no
    rows without one."""
    averages = results.get(learning_points).rename(columns={"average": "score"})
    found = [results.get(task_points), averages.assign(column="average")]
    return thresholds_of(results, pd.concat([one[TASK_COLUMNS] for one in found]))


def learning_table(results: Results) -> TextTable:
    """Mean and standard deviation over pretraining seeds: arms by shares of the updates. A missing
    average leaves its cell empty: the others would be a mean of fewer seeds."""
    points = results.get(learning_points)
    shares = sorted(points["pretrain_fraction"].unique())
    averages = points.astype({"average": float}).groupby(["arm", "pretrain_fraction"])["average"]
    cells = averages.agg(seeds_cell)
    rows = [
        [arm, *(str(cells.get((arm, share), MISSING)) for share in shares)] for arm in results.arms
    ]
    return TextTable(["arm", *(f"{share:.3g}" for share in shares)], rows if shares else [])
