"""The statistical power of an experiment before it is run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.statistics.variance import (
    Components,
    minimum_detectable_difference,
    minimum_margin,
    seeds_needed,
)
from harness.experiment.expectation import Equality, Expectation, NonInferiority
from harness.experiment.outcomes import AVERAGE
from harness.plan.plan import Plan

PRIORS: Mapping[str, float] = {
    "micro-glue": 4.8,
    "micro-superglue": 1.4,
    "micro-squad": 6.2,
    "micro-sum": 2.3,
    "micro-swag": 2.3,
    "micro-ner": 2.2,
    "micro-dapt": 2.2,
    "micro-sts": 4.4,
    "micro-mt": 0.9,
    "micro-food-to-film": 1.5,
    "glue": 0.8,
}
"""Suite (without version) to the standard deviation of its average between pretraining seeds with
one fine-tuning run each, in points: root mean square over the arms of the reports in `reports/`,
but for those with equal scores in all runs; of GLUE, also without ELECTRA, of whose runs some do
not take off."""
PARTS = ("glue",)
"""Suites of which the reports have only some tasks."""
OTHER_SEEDS = (5, 10)
ONE_POINT = 1.0
MAX_POINTS = 100.0
IN_DEVIATIONS = "standard deviations between seeds"
ONE_SEED = "one pretraining seed cannot show that arms differ"


@dataclass(frozen=True)
class SeedSpread:
    """Variance of a suite's average between runs of one arm."""

    components: Components
    """In points squared; without the variance due to the test set."""
    source: str
    """The results from which it was estimated."""


def power_line(plan: Plan, measured: SeedSpread | None = None) -> str | None:
    """The smallest difference in the average that the seeds of a plan can detect, in one sentence;
    null for fewer than two arms with a pretraining run per seed. Where the spread between seeds is
    unknown, as for own tasks, in standard deviations between seeds.

    Args:
        measured: the spread in earlier results; null means PRIORS.
    """
    evaluate = plan.experiment.evaluate
    some_tasks = set(evaluate.chosen) != set(evaluate.suite_value.tasks)
    spread = measured or _prior(evaluate.suite_value.name, is_part=some_tasks)
    if sum(not arm.has_one_run for arm in plan.arms) < 2:
        return None
    seeds = plan.experiment.seeds
    number = min(len(arm.replicates(seeds.pretrain)) for arm in plan.arms if not arm.has_one_run)
    shared = shared_by_arms(plan) if len({arm.networks for arm in plan.arms}) == 1 else ""
    if spread is None:
        line = _without_spread(number, bool(shared))
    else:
        margins = _margins(plan.experiment.expectations)
        line = _sentence(spread, number, len(seeds.finetune), shared, margins)
    largest = max(arm.networks for arm in plan.arms)
    return f"{line}; an ensemble of {largest} counts as one seed" if largest > 1 else line


def shared_by_arms(plan: Plan) -> str:
    """What all arms of a seed have in common, so that reports compare them seed by seed: `worlds`
    or `checkpoints`; empty if they are compared as independent."""
    if plan.experiment.seeds.in_worlds:
        return "worlds"
    differ = any(path.startswith("pretrain.") for path in plan.differences)
    return "" if differ else "checkpoints"


def _without_spread(num_pretrain: int, paired: bool) -> str:
    """Power in standard deviations, as the spread on these tasks is unknown before a run."""
    unit = Components(1.0, math.nan, 0.0)

    def detectable(number: int) -> str:
        return f"{minimum_detectable_difference(unit, number, 1, paired=paired):.1f}"

    more = [number for number in OTHER_SEEDS if number > num_pretrain]
    others = [f"{number} seeds from {detectable(number)}" for number in more]
    if num_pretrain < 2:
        return "; ".join([ONE_SEED, *others[:1]]) + f" {IN_DEVIATIONS}"
    start = f"{num_pretrain} seeds detect differences from {detectable(num_pretrain)}"
    return "; ".join([f"{start} {IN_DEVIATIONS} (80 % power)", *others])


def _margins(expected: Sequence[Expectation]) -> list[Equality | NonInferiority]:
    """The expectations about the average that have a margin."""
    return [
        one
        for one in expected
        if isinstance(one, (Equality, NonInferiority)) and one.outcome == AVERAGE
    ]


def _sentence(
    spread: SeedSpread,
    num_pretrain: int,
    num_finetune: int,
    shared: str,
    margins: Sequence[Equality | NonInferiority],
) -> str:
    components, paired = spread.components, bool(shared)

    def detectable(number: int) -> float:
        return minimum_detectable_difference(components, number, num_finetune, paired=paired)

    least = detectable(num_pretrain)
    if math.isinf(least):
        start = ONE_SEED
    elif least >= MAX_POINTS:
        start = f"{num_pretrain} pretraining seeds cannot show that arms differ"
    else:
        less = f", or less because arms share {shared}" if shared else ""
        start = (
            f"{num_pretrain} pretraining seeds detect differences in the average from about "
            f"{least:.1f} points (80 % power{less})"
        )
    more = [number for number in OTHER_SEEDS if number > num_pretrain]
    others = [f"{number} seeds from {detectable(number):.1f}" for number in more]
    if least > ONE_POINT:
        needed = seeds_needed(components, ONE_POINT, num_finetune, paired=paired)
        others.append(f"one point takes {needed if needed else 'more than 1,000'} seeds")
    equal = minimum_margin(components, num_pretrain, num_finetune, paired=paired)
    needed_by = [(one, equal if isinstance(one, Equality) else least) for one in margins]
    if small := [f"'{one}'" for one, margin in needed_by if one.margin < margin]:
        others.append(f"equal arms confirm {', '.join(small)} in less than 80 %")
    within = components.finetune
    deviation = math.sqrt(
        components.pretrain + (0.0 if math.isnan(within) else within) / max(1, num_finetune)
    )
    source = f"standard deviation between seeds: {deviation:.1f} points in {spread.source}"
    return "; ".join([start, *others, source])


def _prior(suite: str, is_part: bool) -> SeedSpread | None:
    family = suite.rpartition("-v")[0]
    if family not in PRIORS:
        return None
    components = Components(PRIORS[family] ** 2, math.nan, 0.0)
    of = "some tasks of " if family in PARTS else "all of " if is_part else ""
    return SeedSpread(components, f"committed reports on {of}{family}")
