"""The intersection-union test of several differences."""

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.intersection_union import decisive


def difference(estimate: float, p_value: float) -> Difference:
    return Difference(estimate, estimate - 1, estimate + 1, p_value)


@pytest.mark.parametrize(
    ("parts", "above", "place"),
    [
        ([(2, 0.01), (3, 0.02)], True, 1),  # p of the test is the larger
        ([(2, 0.03), (3, 0.02)], True, 0),
        ([(2, 0.9), (-3, 0.02)], True, 1),  # the only one on the other side
        ([(-2, 0.01), (-3, 0.02)], True, 0),  # the one that refutes best
        ([(-2, 0.01), (-3, 0.02)], False, 1),
        ([(2, 0.01), (0, 1.0)], True, 1),  # zero is on no side
        ([(2, 0.01)], True, 0),
    ],
)
def test_the_decisive_difference_by_hand(
    parts: list[tuple[float, float]], above: bool, place: int
) -> None:
    assert decisive([difference(*part) for part in parts], above) == place


def test_nothing_decides_nothing() -> None:
    with pytest.raises(ValueError, match="at least one difference"):
        decisive([], True)


@pytest.mark.parametrize("means", [(0, 0), (5, 0), (1, 0)])
def test_wrong_verdicts_are_rare(means: tuple[float, float]) -> None:
    """With normal differences, where not both hold or neither is the other way."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(4000):
        drawn = rng.normal(means)
        found = [difference(one, 2 * scipy.stats.norm.sf(abs(one))) for one in drawn]
        wrong += found[decisive(found, True)].p_value < 0.05
    assert wrong / 4000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
