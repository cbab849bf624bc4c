"""Tests on pairs: of examples that two models answer, of seeds that two arms share; and the order
of two samples of scores."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, norm

from harness.analysis.statistics.bootstrap import CHUNK, Array, check_finite

EXACT_PAIRS = 16
"""Up to so many pairs all their signs are gone through."""
QUANTILE_STEP = 0.005
"""Width of the grid of quantiles (deepsig, Ulmer et al. 2022)."""


@dataclass(frozen=True)
class PairTest:
    """A two-sided test, with the smallest p it could have given."""

    p_value: float
    floor: float
    """Above the level, the test can never reach it."""
    exact: bool
    """Whether all outcomes were counted, or only drawn ones."""


def mcnemar(first_right: Array, second_right: Array) -> PairTest:
    """Whether two models err equally often on the same examples (McNemar 1947, in its exact,
    binomial form).

    It speaks of these two models, not of the ways they were pretrained.

    Args:
        first_right, second_right: [num_examples], whether each answer is right.

    Raises:
        ValueError: the lists are empty, of different lengths, or hold what is not finite.
    """
    first, second = _paired(first_right, second_right)
    only_first = int(np.sum(first.astype(bool) & ~second.astype(bool)))
    only_second = int(np.sum(~first.astype(bool) & second.astype(bool)))
    discordant = only_first + only_second
    if not discordant:
        return PairTest(1.0, 1.0, True)
    p_value = float(binomtest(only_first, discordant).pvalue)
    return PairTest(p_value, min(1.0, 2.0 ** (1 - discordant)), True)


def sign_flip(
    first: Array, second: Array, num_permutations: int, generator: np.random.Generator
) -> PairTest:
    """Paired permutation test of the mean difference of [num_pairs] scores, by seed or by example:
    all sign changes up to EXACT_PAIRS pairs, else drawn ones, the observed one among them (Phipson
    and Smyth 2010, "Permutation p-values should never be zero").

    Raises:
        ValueError: the lists are empty, of different lengths, or hold what is not finite.
    """
    a, b = _paired(first, second)
    differences = a.astype(np.float64) - b.astype(np.float64)
    exact = len(differences) <= EXACT_PAIRS
    sums = np.concatenate(list(_signed_sums(differences, exact, num_permutations, generator)))
    rounding = 1e-12 * np.abs(differences).sum()
    beyond = int(np.sum(sums >= abs(differences.sum()) - rounding))
    if exact:
        most = int(np.sum(sums >= np.abs(differences).sum() - rounding))
        return PairTest(beyond / len(sums), most / len(sums), True)
    return PairTest((1 + beyond) / (1 + num_permutations), 1 / (1 + num_permutations), False)


def _signed_sums(
    differences: Array, exact: bool, num_permutations: int, generator: np.random.Generator
) -> Iterator[Array]:
    """Absolute sums of the differences under changed signs, some changes at a time."""
    places = np.arange(len(differences))
    total = 2 ** len(differences) if exact else num_permutations
    rows = max(1, CHUNK // len(differences))
    for start in range(0, total, rows):
        numbers = np.arange(start, min(start + rows, total))
        if exact:
            negative = numbers[:, None] >> places & 1
        else:
            negative = generator.integers(2, size=(len(numbers), len(places)))
        yield np.abs((1 - 2 * negative) @ differences)


def almost_stochastic_order(
    first: Array,
    second: Array,
    generator: np.random.Generator,
    *,
    confidence: float = 0.95,
    num_replicates: int = 1000,
) -> float:
    """Upper confidence bound of the violation of `first` being stochastically above `second`, 0 to
    1 (del Barrio et al. 2018; Dror et al. 2019, ACL, equations 4 to 8).

    Below 0.5 the first is above the second in more quantiles than not; its authors advise a
    stricter threshold of 0.2. Of several comparisons, divide 1 - confidence by their number.

    Args:
        first, second: [n], [m] scores of runs.

    Raises:
        ValueError: an arm without scores, or a score that is not finite.
    """
    n, m = len(first), len(second)
    if not n or not m:
        raise ValueError(f"both arms need scores of at least one run, but have {n} and {m}")
    check_finite(first=first, second=second)
    scale = np.sqrt(n * m / (n + m))
    ratio = violation_ratio(first, second)
    drawn = [
        violation_ratio(generator.choice(first, n), generator.choice(second, m))
        for _ in range(num_replicates)
    ]
    sigma = float(np.std(scale * (np.array(drawn) - ratio)))
    bound = ratio - sigma / scale * float(norm.ppf(1 - confidence))
    return float(np.clip(bound, 0.0, 1.0))


def violation_ratio(first: Array, second: Array) -> float:
    """Share of the squared distance between two quantile functions that lies where `first` is below
    `second`; 0.5 where there is no distance."""
    levels = np.arange(QUANTILE_STEP, 1, QUANTILE_STEP)
    gaps = _quantiles(first, levels) - _quantiles(second, levels)
    total = float(np.sum(gaps**2))
    return float(np.sum(gaps[gaps < 0] ** 2)) / total if total else 0.5


def _quantiles(sample: Array, levels: Array) -> Array:
    """The inverse of the empirical distribution function."""
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    places = np.ceil(levels * len(ordered) - 1e-9).astype(int) - 1
    return ordered[np.clip(places, 0, len(ordered) - 1)]


def _paired(first: Array, second: Array) -> tuple[Array, Array]:
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise ValueError(
            f"pairs need two lists of equal length, but have {list(a.shape)} and {list(b.shape)}"
        )
    check_finite(first=a, second=b)
    return a, b
