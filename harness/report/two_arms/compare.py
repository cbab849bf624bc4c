"""Compares two arms by the statistics of the report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import (
    AVERAGE,
    Comparer,
    Differences,
    enough_seeds,
    same_checkpoints,
)
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.multiple_testing import holm
from harness.leaderboard.build import build, experiment_comparer
from harness.plan.differences import condensed, differing_fields
from harness.report.disagreements.answers import Flips, arm_predictions, flipped_examples
from harness.report.two_arms.arm_comparison import ArmComparison
from harness.report.two_arms.sides import Side, protocol_differences, two_sides


def compare_arms(
    first: tuple[Results, str], second: tuple[Results, str], average: str | None = None
) -> ArmComparison:
    """The difference between two arms, the first minus the second.

    Args:
        first, second: results of an experiment and the name of one of its arms; the experiments
            may differ if they score on the same data by the same protocol; those of one file may
            differ in protocol.
        average: an averaging rule; null means the suite's.

    Raises:
        ValueError: an unknown or the same arm, no scores, an unknown averaging rule, or experiments
            that are not comparable.
    """
    sides = two_sides(first, second)
    one, other = sides
    names = (one.name, other.name)
    evaluate = one.results.experiment.evaluate
    scores = pd.concat([_scores(side) for side in sides], ignore_index=True)
    table = build(scores, evaluate.suite_value, average, tasks=evaluate.tasks, arms=names)

    def counts(key: str) -> Mapping[str, np.ndarray]:
        return (one if key in one.results.finished else other).results.counts(key)

    fields = _fields(one, other)
    protocol = protocol_differences(one, other)
    is_one_plan = one.results.plan is other.results.plan
    asked = one.results.plan.declared if is_one_plan else frozenset()
    shown = {path: row for path, row in condensed(fields) if path not in one.searched}
    if is_one_plan:  # the spread of the other arms counts too, as in the report
        compared = experiment_comparer(one.results, table)
    else:
        runs = arm_runs(names, scores, counts, table.layout)
        compared = Comparer(runs, table.layout, same_checkpoints(fields))
    found = compared(*names)
    return ArmComparison(
        names,
        table,
        found,
        holm_of(found),
        dict(_flips(one, other)),
        shown | protocol,
        tuple(path for path in protocol if path not in asked),
        names if is_one_plan else (one.label, other.label),
    )


def _scores(side: Side) -> pd.DataFrame:
    frame = side.results.get(scores_frame)
    return frame[frame["arm"] == side.arm.name].assign(arm=side.name, experiment="")


def _fields(one: Side, other: Side) -> Mapping[str, Mapping[str, Any]]:
    """Dotted path to {name: value} of the fields in which the arms differ."""
    if one.results.plan is not other.results.plan:
        return differing_fields([replace(side.arm, name=side.name) for side in (one, other)])
    names, rows = (one.name, other.name), one.results.plan.differences.items()
    both = {path: {name: row[name] for name in names} for path, row in rows}
    return {path: row for path, row in both.items() if row[one.name] != row[other.name]}


def holm_of(found: Differences) -> dict[str, float]:
    """Column to p by Holm among the columns with enough seeds."""
    judged = {
        name: one.p_value
        for name, one in found.items()
        if one and name != AVERAGE and enough_seeds(one)
    }
    return dict(zip(judged, map(float, holm(list(judged.values()))), strict=True))


def _flips(one: Side, other: Side) -> Iterator[tuple[tuple[str, str], Flips]]:
    """Flipped examples of the tasks on which both arms have finished runs; none where each seed has
    the examples of a micro-world of its own."""
    if one.results.experiment.seeds.in_worlds:
        return
    scored = [set(_scores(side)["task"]) for side in (one, other)]
    for name, task in one.results.experiment.evaluate.chosen.items():
        if all(name in tasks for tasks in scored):
            sides = {
                side.name: arm_predictions(side.results, name, side.arm.name)
                for side in (one, other)
            }
            for split, flips in flipped_examples(task, sides).items():
                yield (name, split), flips
