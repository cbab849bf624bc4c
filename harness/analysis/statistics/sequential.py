"""Tests at several looks at growing data: levels that keep the error over all looks at alpha.

A spending function says how much of alpha may be spent up to each share of the data (Lan & DeMets
1983, "Discrete sequential boundaries for clinical trials", Biometrika 70). The looks' z statistics
are jointly normal with independent increments: corr(z_i, z_j) = sqrt(t_i / t_j). The boundaries
that spend as much follow one by one, by numerical integration of the density of what has not
crossed one yet (Armitage, McPherson & Rowe 1969, "Repeated significance tests on accumulating
data", JRSS A 132). Boundaries are used as levels of p values, which makes them nearly exact for
Student's test, too (Jennison & Turnbull 2000, "Group sequential methods", section 4.4).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import e, log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from harness.analysis.statistics.bootstrap import Array

ALPHA = 0.05
LEAST_P = 1e-9
"""Smaller p values adjusted for looks are returned as this."""
LEAST_SPENT = 1e-9
"""Share of alpha that each look spends at least, so that it has a level."""
NODES = 400
"""Points of the integration, which suffice for looks whose shares differ by a thousandth."""
FARTHEST = 9.0
"""Standard deviations beyond which a normal density is left out: 1e-19 of it."""


def _obrien_fleming(share: float, alpha: float) -> float:
    return 2 * float(ndtr(ndtri(alpha / 2) / sqrt(share)))


def _pocock(share: float, alpha: float) -> float:
    return alpha * log(1 + (e - 1) * share)


SPENDING: Mapping[str, Callable[[float, float], float]] = {
    "obrien_fleming": _obrien_fleming,
    "pocock": _pocock,
}
"""Name to a function from the share of the data, and the alpha of one side, to the alpha that is
spent on this side by then: like the boundaries of O'Brien & Fleming 1979, hardly any at early
looks; like those of Pocock 1977, with nearly equal levels (Lan & DeMets 1983, section 2)."""


def nominal_levels(
    counts: Sequence[int], spending: str, alpha: float = ALPHA, sides: int = 2
) -> tuple[float, ...]:
    """The level of p at each look, such that p is below it at any look in `alpha` of the cases
    without a difference.

    Args:
        counts: numbers of seeds at the looks, increasing; the last is the end.
        spending: a name in SPENDING.
        alpha: of the test, below 1.
        sides: 2 for a two-sided p, half of alpha for each side; 1 for a one-sided p.

    Raises:
        ValueError: numbers that do not increase, or an unknown spending function.
    """
    if not counts or counts[0] < 1 or any(a >= b for a, b in pairwise(counts)):
        raise ValueError(f"looks must be at increasing numbers of seeds, but are at {[*counts]}")
    if spending not in SPENDING:
        raise ValueError(f"spending must be one of {', '.join(SPENDING)}, but is {spending}")
    return _levels(tuple(counts), spending, alpha, sides)


@cache  # all verdicts of a report ask for the same ones
def _levels(counts: tuple[int, ...], spending: str, alpha: float, sides: int) -> tuple[float, ...]:
    levels, spent, last = [], 0.0, counts[-1]
    points, density, time = np.zeros(1), np.ones(1), 0.0  # all mass at zero before the first look
    for count in counts:
        now = count / last
        wanted = sides * SPENDING[spending](now, alpha / sides)
        step = max(wanted - spent, LEAST_SPENT * alpha)
        bound = _bound(points, density, now - time, sqrt(now), step, sides)
        levels.append(sides * float(ndtr(-bound)))
        points, density = _continued(points, density, now - time, bound * sqrt(now), now, sides)
        spent, time = spent + step, now
    return tuple(levels)


def _bound(
    points: Array, density: Array, gained: float, scale: float, step: float, sides: int
) -> float:
    """The z that is crossed with probability `step` at a look, and not before."""

    def excess(bound: float) -> float:
        upper = ndtr((points - bound * scale) / sqrt(gained))
        lower = ndtr((-points - bound * scale) / sqrt(gained)) if sides == 2 else 0.0
        return float(density @ (upper + lower)) - step

    return float(brentq(excess, -FARTHEST if sides == 1 else 0.0, 2 * FARTHEST, xtol=1e-12))


def _continued(
    points: Array, density: Array, gained: float, bound: float, now: float, sides: int
) -> tuple[Array, Array]:
    """The score z * sqrt(t) where no boundary was crossed: points [NODES], and their masses."""
    far = FARTHEST * sqrt(now)
    low, high = (-min(bound, far) if sides == 2 else -far), min(bound, far)
    nodes, weights = _nodes()
    new = low + (high - low) * (nodes + 1) / 2
    apart = (new[:, None] - points) / sqrt(gained)
    height = np.exp(-(apart**2) / 2) @ density / sqrt(2 * np.pi * gained)
    return new, weights * (high - low) / 2 * height


@cache
def _nodes() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def repeated_p(
    p_value: float, look: int, counts: Sequence[int], spending: str, sides: int = 2
) -> float:
    """p adjusted for looks: the smallest alpha at which this look would be significant. At any of
    the looks it is below a level in at most that share of the cases without a difference
    (Jennison & Turnbull 2000, section 9.3, repeated p values), so that Holm's and Benjamini and
    Hochberg's corrections apply to it as to any p.

    Args:
        p_value: of the test of the data up to the look.
        look: from 0.
        counts, spending, sides: as for `nominal_levels`.
    """

    def is_significant(alpha: float) -> bool:
        return p_value <= nominal_levels(counts, spending, alpha, sides)[look]

    low, high = log(LEAST_P), log(1 - 1e-6)
    if not is_significant(np.exp(high)):
        return 1.0
    if is_significant(LEAST_P):
        return LEAST_P
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if is_significant(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))
