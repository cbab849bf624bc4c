"""Many tests at once: p-values adjusted for their number, and ranks with ties."""

from collections.abc import Sequence

import numpy as np

from harness.analysis.statistics.bootstrap import Array


def holm(p_values: Sequence[float]) -> Array:
    """Adjusted p-values [m] for claims: the chance of one false one stays below the level (Holm
    1979, "A simple sequentially rejective multiple test procedure").

    Raises:
        ValueError: a p-value outside 0 to 1.
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def benjamini_hochberg(p_values: Sequence[float]) -> Array:
    """Adjusted p-values [m] for screens: the expected share of false ones among those found stays
    below the level (Benjamini and Hochberg 1995).

    Raises:
        ValueError: a p-value outside 0 to 1.
    """
    from scipy.stats import false_discovery_control  # a second, for which no board need wait

    p = _checked(p_values)
    return np.asarray(false_discovery_control(p, method="bh")) if len(p) else p


def tie_groups(values: Sequence[float], separable: Array) -> Array:
    """Dense ranks [n] from 1, the highest value first; NaN where a value is.

    An arm shares the rank of those above it until one comes that is separable from the best of
    them. So the members of a group are all inseparable from its best, if not from each other.

    Args:
        separable: [n, n], whether two arms are told apart.

    Raises:
        ValueError: `separable` is not symmetric, or of another size.
    """
    told = np.asarray(separable, dtype=bool)
    scores = np.asarray(values, dtype=np.float64)
    if told.shape != (len(scores), len(scores)) or not np.array_equal(told, told.T):
        raise ValueError(
            f"separable must be symmetric [{len(scores)}, {len(scores)}], but is {list(told.shape)}"
        )
    ranks = np.full(len(scores), np.nan)
    best, rank = -1, 0
    for arm in np.argsort(-scores, kind="stable"):  # NaN comes last
        if np.isnan(scores[arm]):
            break
        if best < 0 or told[best, arm]:
            best, rank = int(arm), rank + 1
        ranks[arm] = rank
    return ranks


def _checked(p_values: Sequence[float]) -> Array:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must be a list of numbers from 0 to 1, but are {p.tolist()}")
    return p
