"""Expectations about arms that have learned nothing to compare, or nothing that is left to measure.

A difference between arms says something about how they were trained only if their training had an
effect (in experimental psychology, a manipulation check). An expectation is void if an arm that it
names is not shown to be above chance, or above the same network without pretraining (one-sided, at
5 %), if all runs of all its arms are at the highest possible score, or if arms have the same runs.
Of arms that differ in the amount of training alone, one that has learned is enough: what more of it
does is the question. An interaction is void if both arms of one of its differences are at chance,
and a gap between two columns, of a network without pretraining, too, if an arm is at chance in the
first.
An arm that learned from the predictions of another (`evaluate.distillation`) says nothing about
distillation if that one, its teacher, has learned nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.analysis.comparison.differences import LEVEL, Outcome
from harness.analysis.frames.scores import probes_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.core.rounding import one_decimal
from harness.experiment.expectation import Expectation, Interaction
from harness.leaderboard.build import experiment_table
from harness.report.chance_checks import UNTRAINED, chance_levels, controls
from harness.report.difference_tables import interval, points
from harness.report.run_checks import NEAR_MAXIMUM, guesses, maximum
from harness.tasks.custom import tasks_of
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import OVERALL
from harness.tasks.task import Column

ARCHITECTURE = ("pretrain.model.family", "pretrain.size")
"""Begin of the paths of the fields that a network and its untrained twin share."""
AMOUNTS = (
    "pretrain.budget",
    "pretrain.corpus",
    "evaluate.continued_pretraining",
    "evaluate.protocol.max_train_examples",
    "evaluate.finetune.epochs",
)
"""Begin of the paths of the fields that say how much, and on what, a model is trained."""


def void_reasons(
    results: Results, outcome: Outcome, one: Expectation, learned: Outcome | None = None
) -> list[str]:
    """Why the results cannot confirm or refute an expectation; empty if they can. Expectations that
    name a network without pretraining are themselves about the effect of training.

    Args:
        outcome: what the expectation is about, a column, an average, a gap or a probe.
        learned: of a gap, its first column, which arms must have learned.
    """
    known = controls(results)
    arms = [arm for arm in one.arms if arm not in known and not guesses(results, arm)]
    top = None if learned else _level(outcome.terms, _maxima(results, outcome))
    runs = [outcome.observed(arm) for arm in one.arms]  # of baselines, too
    if top is not None and all(len(of) and min(of) >= NEAR_MAXIMUM * top for of in runs):
        named = " and ".join(one.arms)
        return [f"{named} are at the highest possible score ({one_decimal(top)}) in every run"]
    if outcome.are_same(one.arms):
        return ["arms have the same score in every run"]
    shown = learned or outcome
    floor = _level(shown.terms, _chance(results, shown))
    if UNTRAINED in map(known.get, one.arms):
        return [*_sides_at_chance(shown, one, floor), *_gaps_at_chance(results, learned, one)]
    low = [reason for arm in arms for reason in _low(results, shown, arm, floor)]
    if len(low) < len(arms) and _differ_in_amount(results, one.arms):
        return []
    teachers = sorted(_teachers(results, one.arms) - set(one.arms))
    of_teachers = [why for arm in teachers for why in _low(results, shown, arm, floor)]
    return low + [f"as a teacher, {why}" for why in of_teachers]


def void_level(results: Results, outcome: Outcome, arms: Sequence[str], level: float) -> list[str]:
    """Why the results cannot say when arms reach a level of a score; empty if they can. An arm that
    learns nothing never reaches it, which is an answer if another arm learns something.

    Args:
        outcome: the score.
        level: x 100.
    """
    floor = _level(outcome.terms, _chance(results, outcome))
    if floor is not None and level <= floor:
        return [f"the level {level:g} is not above chance ({one_decimal(floor)})"]
    low = [list(_low(results, outcome, arm, floor)) for arm in arms]
    return [reason for of_arm in low for reason in of_arm] if all(low) else []


def _sides_at_chance(outcome: Outcome, one: Expectation, floor: float | None) -> Iterator[str]:
    """Differences of an interaction between two arms at chance, neither of which can lose."""
    if floor is None or not isinstance(one, Interaction):
        return
    level = one_decimal(floor)
    for side in (one.better, one.worse):
        if not any(_is_above(outcome.above(arm, floor)) for arm in side):
            yield f"neither {side[0]} nor {side[1]} is shown to be above chance ({level})"


def _gaps_at_chance(results: Results, first: Outcome | None, one: Expectation) -> Iterator[str]:
    """Networks without pretraining that are at chance in the first column of a gap, and so have
    none."""
    if first is None:
        return
    floor = _level(first.terms, _chance(results, first))
    known = controls(results)
    for arm in (arm for arm in one.arms if known.get(arm) == UNTRAINED):
        yield from _low(results, first, arm, floor)


def _differ_in_amount(results: Results, arms: Sequence[str]) -> bool:
    """Whether arms differ in how much, or on which text, they are trained, and in nothing else."""
    differing = (
        path
        for path, of in results.plan.differences.items()
        if any(of.get(arm) != of.get(arms[0]) for arm in arms)
    )
    return all(path.startswith(AMOUNTS) for path in differing)


def _low(results: Results, outcome: Outcome, arm: str, floor: float | None) -> Iterator[str]:
    """What an arm is not shown to be above."""
    if floor is not None and not _is_above(gap := outcome.above(arm, floor)):
        yield f"{arm} is not shown to be above chance ({one_decimal(floor)}; {_shown(gap)})"
        return
    for control in (one for one in untrained_twins(results, arm) if one != arm):
        if not _is_above(gap := outcome.contrast({arm: 1, control: -1})):
            yield f"{arm} is not shown to be above {control}, {UNTRAINED} ({_shown(gap)})"
            return


def _teachers(results: Results, arms: Sequence[str]) -> set[str]:
    """The arms from whose predictions `arms` learn."""
    given = [arm.evaluate.distillation for arm in results.plan.arms if arm.name in arms]
    return {one.teacher for one in given if one}


def _is_above(gap: Difference | None) -> bool:
    """By a one-sided test; true without scores."""
    return gap is None or (gap.estimate > 0 and gap.p_value / 2 < 1 - LEVEL)


def untrained_twins(results: Results, arm: str) -> list[str]:
    """The networks without pretraining that are evaluated as an arm is: those of its architecture,
    or if there are none, of any."""
    fields = results.plan.differences.items()
    ways = [of for path, of in fields if not path.startswith("pretrain.")]
    shape = [of for path, of in fields if path.startswith(ARCHITECTURE)]
    known = [name for name, kind in controls(results).items() if kind == UNTRAINED]
    known = [name for name in known if all(of.get(name) == of.get(arm) for of in ways)]
    alike = [name for name in known if all(of.get(name) == of.get(arm) for of in shape)]
    return alike or known


def _chance(results: Results, outcome: Outcome) -> Mapping[str, float]:
    """Column to the score x 100 of the best guess; of probes, of random guesses."""
    of_probes = {column.name: _probe_chance(results, column) for column in _probed(outcome)}
    return {
        **chance_levels(results, results.get(experiment_table)),
        **{name: 100 * level for name, level in of_probes.items() if not math.isnan(level)},
    }


def _probe_chance(results: Results, column: Column) -> float:
    """Accuracy of random guesses; NaN if it is not known."""
    probe = PROBES[column.task]
    if column.split == OVERALL or probe.kind != "cloze":
        return probe.chance
    rows = results.get(probes_frame)
    own = rows[(rows["probe"] == column.task) & (rows["category"] == column.split)]
    return float(own["chance"].max())


def _maxima(results: Results, outcome: Outcome) -> Mapping[str, float]:
    """Column to the highest possible score x 100."""
    tasks, table = tasks_of(results.suite), results.get(experiment_table)
    return {
        **{column.name: maximum(tasks[column.task], column) for column in table.columns},
        **{column.name: 100.0 for column in _probed(outcome)},
    }


def _probed(outcome: Outcome) -> list[Column]:
    return [column for term in outcome.terms for column in term if column.task in PROBES]


def _level(terms: Sequence[Term], levels: Mapping[str, float]) -> float | None:
    """The mean over terms of the levels of their columns; null if one is not known."""
    columns = [column for term in terms for column in term]
    if not all(column.name in levels for column in columns):
        return None
    return float(combine(terms, {column: np.array(levels[column.name]) for column in columns}))


def _shown(found: Difference | None) -> str:
    assert found  # else there is nothing to be above
    return f"{points(found.estimate)} points, {interval(found)}"
