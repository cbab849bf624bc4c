"""Levels of sequential looks, against published boundaries, scipy's joint normal and simulation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from benchmarks.common import RESULTS
from benchmarks.sequential_looks import RULES, simulated
from harness.analysis.statistics.sequential import (
    ALPHA,
    LEAST_P,
    SPENDING,
    nominal_levels,
    repeated_p,
)
from harness.experiment.experiment import Seeds
from tests.paths import ROOT

PUBLISHED = {
    "obrien_fleming": (4.877, 3.357, 2.680, 2.290, 2.031),
    "pocock": (2.438, 2.427, 2.410, 2.397, 2.386),
}
"""z of five equally spaced looks at a two-sided level of 5 %, as the R packages ldbounds (after
Reboussin, DeMets, Kim & Lan 2000, Controlled Clinical Trials 21) and gsDesign give them."""
COUNTS = [(3, 5, 10), (2, 3), (2, 4, 6, 8, 20), (5,)]


def bounds(levels: tuple[float, ...], sides: int = 2) -> np.ndarray:
    return norm.isf(np.array(levels) / sides)


@pytest.mark.parametrize("spending", PUBLISHED)
def test_published_boundaries(spending: str) -> None:
    levels = nominal_levels([1, 2, 3, 4, 5], spending)
    assert bounds(levels) == pytest.approx(PUBLISHED[spending], abs=6e-4)


def test_published_levels() -> None:
    expected = (0.000001, 0.0008, 0.0074, 0.0220, 0.0423)
    assert nominal_levels([1, 2, 3, 4, 5], "obrien_fleming") == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("spending", SPENDING)
def test_the_joint_normal_distribution_crosses_as_often_as_is_spent(
    spending: str, counts: tuple[int, ...], sides: int
) -> None:
    shares = np.array(counts) / counts[-1]
    z = bounds(nominal_levels(counts, spending, sides=sides), sides)
    correlation = np.sqrt(np.minimum.outer(shares, shares) / np.maximum.outer(shares, shares))
    for look in range(1, len(counts) + 1):
        of = multivariate_normal(np.zeros(look), correlation[:look, :look], seed=0, abseps=1e-6)
        low = -z[:look] if sides == 2 else np.full(look, -np.inf)
        spent = 1 - of.cdf(z[:look], lower_limit=low)
        expected = sides * SPENDING[spending](shares[look - 1], ALPHA / sides)
        assert spent == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("spending", SPENDING)
def test_one_look_has_the_whole_level(spending: str) -> None:
    assert nominal_levels([7], spending) == pytest.approx((ALPHA,), abs=1e-12)
    assert nominal_levels([7], spending, 0.1, sides=1) == pytest.approx((0.1,), abs=1e-12)
    assert repeated_p(0.03, 0, [7], spending) == pytest.approx(0.03, rel=1e-4)


@pytest.mark.parametrize("spending", SPENDING)
def test_sums_of_normal_values_cross_in_five_per_cent(spending: str) -> None:
    counts = np.array([3, 5, 10])
    sums = np.random.default_rng(0).standard_normal((100_000, 10)).cumsum(axis=1)
    p_values = 2 * norm.sf(np.abs(sums[:, counts - 1]) / np.sqrt(counts))
    crossed = (p_values < nominal_levels(counts.tolist(), spending)).any(axis=1).mean()
    assert crossed == pytest.approx(ALPHA, abs=0.002)  # three standard errors


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("spending", SPENDING)
def test_p_adjusted_for_looks_is_below_a_level_where_p_is_below_that_of_the_look(
    spending: str, sides: int
) -> None:
    counts = (3, 5, 10)
    for alpha in (0.01, 0.05, 0.2):
        for look, level in enumerate(nominal_levels(counts, spending, alpha, sides)):
            found = repeated_p(level, look, counts, spending, sides)
            assert found == pytest.approx(alpha, rel=1e-4)
            assert repeated_p(0.9 * level, look, counts, spending, sides) < alpha
            assert repeated_p(1.1 * level, look, counts, spending, sides) > alpha


@pytest.mark.parametrize("spending", SPENDING)
def test_levels_grow_with_alpha(spending: str) -> None:
    """Else the adjusted p would not be one."""
    for counts in [(3, 5, 10), (2, 9, 10, 11)]:
        found = [nominal_levels(counts, spending, a) for a in np.geomspace(LEAST_P, 0.999, 12)]
        assert all((np.array(a) < b).all() for a, b in pairwise(found))


def test_ends_of_p() -> None:
    assert repeated_p(0.0, 0, [3, 10], "obrien_fleming") == LEAST_P
    assert repeated_p(1.0, 0, [3, 10], "obrien_fleming") == 1.0
    assert repeated_p(0.6, 0, [3, 10], "obrien_fleming") == 1.0  # never significant so early


def test_a_look_at_a_small_share_has_a_level() -> None:
    first, *_ = nominal_levels([2, 999, 1000], "obrien_fleming")
    assert 0 < first < 1e-9


@pytest.mark.parametrize("counts", [[], [0, 3], [3, 3], [5, 3]])
def test_numbers_that_do_not_increase_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="increasing numbers of seeds, but are at"):
        nominal_levels(counts, "pocock")


def test_unknown_functions_are_refused() -> None:
    with pytest.raises(ValueError, match="one of obrien_fleming, pocock, but is haybittle"):
        nominal_levels([3, 5], "haybittle")


def test_every_function_can_be_declared() -> None:
    for name in SPENDING:
        assert Seeds(pretrain=(0, 1, 2), looks=(2,), spending=name).spending == name


def test_verdicts_of_the_whole_procedure_are_wrong_in_five_per_cent() -> None:
    """Less than three standard errors above; looks that are not declared, twice as often."""
    trials = 300
    rows = simulated("a > b, c > d: no difference", (3, 5, 10), trials, seed=1)
    either = dict(zip(RULES, (row["either"] for row in rows), strict=True))
    most = 5 + 300 * np.sqrt(0.05 * 0.95 / trials)
    assert all(either[rule] <= most for rule in SPENDING)
    assert either["undeclared"] > max(either[rule] for rule in SPENDING)


def test_the_table_of_the_docs_is_what_was_measured() -> None:
    page = (RESULTS / "sequential_looks.md").read_text()
    measured = [line.split(" | ", 2) for line in page.splitlines() if line.startswith("| 3, ")]
    measured += [line.split(" | ", 2) for line in page.splitlines() if line.startswith("| 5, ")]
    docs = (ROOT / "docs" / "statistics.md").read_text().replace("`", "")
    assert len(measured) == 8
    assert all(" | ".join(row) in docs for row in measured)
