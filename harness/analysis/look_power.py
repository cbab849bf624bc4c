"""What sequential looks cost in power, and save in seeds, before an experiment is run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import nan

import numpy as np
from scipy.special import stdtr

from harness.analysis.power import shared_by_arms
from harness.analysis.statistics.bootstrap import Array
from harness.analysis.statistics.sequential import nominal_levels
from harness.analysis.statistics.variance import (
    POWER,
    Components,
    minimum_detectable_difference,
)
from harness.plan.plan import Plan

TRIALS = 10_000
"""Simulated pairs of arms, which give a share to half a point."""
OF_SPENDING = {"obrien_fleming": "O'Brien and Fleming", "pocock": "Pocock"}


@dataclass(frozen=True)
class LookPower:
    """How an experiment with looks ends that stops when a difference is significant."""

    significant: float
    """Share of experiments with a significant difference at some look."""
    mean_seeds: float
    """Seeds per arm that are used on average."""


def looks_line(plan: Plan) -> str:
    """The looks of a plan with their levels, and their power and mean number of seeds beside a test
    at the end alone; empty without looks."""
    seeds, end = plan.experiment.seeds, len(plan.experiment.seeds.pretrain)
    if not seeds.looks:
        return ""
    counts = (*seeds.looks, end)
    paired = bool(shared_by_arms(plan))
    levels = nominal_levels(counts, seeds.spending)
    apart = minimum_detectable_difference(Components(1.0, nan, 0.0), end, 1, paired=paired)
    found, equal = (look_power(counts, levels, of, paired) for of in (apart, 0.0))
    at = ", ".join(f"{n} (p < {level:.2g})" for n, level in zip(counts, levels, strict=True))
    return (
        f"looks at seeds {at}, as of {OF_SPENDING[seeds.spending]}: a difference that {end} seeds "
        f"show in {100 * POWER:.0f} % without looks is shown in {100 * found.significant:.0f} %, "
        f"after {found.mean_seeds:.1f} seeds per arm on average; equal arms take "
        f"{equal.mean_seeds:.1f} and differ falsely in {100 * equal.significant:.1f} %"
    )


@cache
def look_power(
    counts: Sequence[int], levels: Sequence[float], difference: float, paired: bool
) -> LookPower:
    """Of TRIALS simulated pairs of arms with normal seeds of equal variances.

    Args:
        counts: numbers of seeds at the looks; the last is the end.
        levels: of p at the looks.
        difference: true difference in standard deviations between seeds.
        paired: whether seeds are compared one by one; arms then have nothing in common.
    """
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, TRIALS, counts[-1]))
    p_values = [_p_values(first[:, :n] + difference, second[:, :n], paired) for n in counts]
    below = np.stack(p_values) < np.array(levels)[:, None]
    ends = np.where(below.any(axis=0), below.argmax(axis=0), len(counts) - 1)
    return LookPower(float(below.any(axis=0).mean()), float(np.array(counts)[ends].mean()))


def _p_values(first: Array, second: Array, paired: bool) -> Array:
    """Two-sided p [trials] of Welch's test, or of the paired test, of scores [trials, seeds]."""
    sides = [first - second] if paired else [first, second]
    parts = [side.var(axis=1, ddof=1) / side.shape[1] for side in sides]
    own, total = first.shape[1] - 1, sum(parts)
    freedom = total**2 / sum(part**2 / own for part in parts)
    distance = np.abs(first.mean(axis=1) - second.mean(axis=1))
    return np.asarray(2 * stdtr(freedom, -distance / np.sqrt(total)))
