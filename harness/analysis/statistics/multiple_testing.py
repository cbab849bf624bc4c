"""Multiple testing: adjusted p-values, and ranks with ties."""

from collections.abc import Sequence

import numpy as np

from harness.analysis.statistics.bootstrap import Array


def holm(p_values: Sequence[float]) -> Array:
    """p-values [m] adjusted for the family-wise error rate: the probability of any false rejection
    is below the level (Holm 1979, "A simple sequentially rejective multiple test procedure").

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
    """p-values [m] adjusted for the false discovery rate: the expected share of false rejections
    among all rejections is below the level (Benjamini and Hochberg 1995).

    Raises:
        ValueError: a p-value outside 0 to 1.
    """
    from scipy.stats import false_discovery_control  # takes a second to import

    p = _checked(p_values)
    return np.asarray(false_discovery_control(p, method="bh")) if len(p) else p


def tie_groups(values: Sequence[float], separable: Array) -> Array:
    """Dense ranks [n] from 1, the highest value first; NaN for NaN.

    In descending order, an arm shares the rank of the arms above unless it is separable from the
    best of them. All members of a rank are inseparable from its best, but not always from each
    other.

    Args:
        values: [n].
        separable: [n, n], whether two arms differ significantly.

    Raises:
        ValueError: `separable` is not symmetric or has another size.
    """
    apart = np.asarray(separable, dtype=bool)
    scores = np.asarray(values, dtype=np.float64)
    size = len(scores)
    if apart.shape != (size, size) or not np.array_equal(apart, apart.T):
        raise ValueError(
            f"separable must be symmetric [{size}, {size}], but is {list(apart.shape)}"
        )
    ranks = np.full(size, np.nan)
    best, rank = -1, 0
    for arm in np.argsort(-scores, kind="stable"):  # NaN sorts last
        if np.isnan(scores[arm]):
            break
        if best < 0 or apart[best, arm]:
            best, rank = int(arm), rank + 1
        ranks[arm] = rank
    return ranks


def _checked(p_values: Sequence[float]) -> Array:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must be a list of numbers from 0 to 1, but are {p.tolist()}")
    return p
