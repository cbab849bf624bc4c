"""Whether two outcomes order arms alike: Kendall's tau of arms with few seeds.

Tau is the share of pairs of arms that both outcomes order alike (concordant) minus that of pairs
which they order the other way (discordant). With few seeds, the bootstrap and the jackknife of tau
are wrong far too often where two arms are nearly equal in an outcome: tau then jumps by the chance
of one pair (docs/statistics.md, "Rank agreement"). Therefore pairs are tested. A pair is concordant
by the larger p of its two differences (the intersection-union test of Berger 1982), and at least u
of n pairs are by n - u + 1 times the u-th smallest of these p, and not less than p of fewer: the
partial conjunction test of Benjamini and Heller 2008 ("Screening for partial conjunction
hypotheses", Biometrics 64, section 3), which holds for any dependence between pairs. Pairs that are
not distinguished count against what is to be shown.
"""

from collections.abc import Sequence

import numpy as np

from harness.analysis.statistics.bootstrap import Difference

Array = np.ndarray
PairDifferences = tuple[Difference, Difference]
"""The difference of the same two arms in both outcomes, with the better side above zero."""


def rank_agreement(pairs: Sequence[PairDifferences], level: float, alpha: float) -> Difference:
    """Tau minus a level, with its interval and two-sided p. Pairs that are equal in an outcome are
    neither concordant nor discordant.

    Args:
        pairs: all pairs of arms.
        alpha: 1 - coverage of the interval.

    Raises:
        ValueError: no pairs.
    """
    if not pairs:
        raise ValueError("there must be at least one pair of arms")
    signs = np.array([np.sign(one.estimate) * np.sign(other.estimate) for one, other in pairs])
    p_values = np.array([max(one.p_value, other.p_value) for one, other in pairs])
    num = len(pairs)
    tau, shares = float(signs.sum()) / num, (2 * np.arange(1, num + 1) - num) / num
    alike, reverse = (at_least(np.where(signs == side, p_values, 1.0)) for side in (1, -1))
    low = float(max([-1.0, *shares[alike < alpha]]))
    high = float(min([1.0, *-shares[reverse < alpha]]))
    # The fewest concordant pairs that leave tau above the level whatever the others are.
    shown, of = (alike, shares) if tau > level else (reverse, -shares)
    beyond = of > level if tau > level else of < level
    p_value = float(shown[beyond][0]) if tau != level and beyond.any() else 1.0
    seeds = [one.num_seeds for pair in pairs for one in pair if one.num_seeds]
    return Difference(tau - level, low - level, high - level, p_value, min(seeds, default=0))


def at_least(p_values: Array) -> Array:
    """[n]: p of the tests that at least 1, 2, ... n of n effects are there.

    Args:
        p_values: [n], of each effect.
    """
    tests = (len(p_values) - np.arange(len(p_values))) * np.sort(p_values)
    return np.minimum(np.maximum.accumulate(tests), 1.0)
