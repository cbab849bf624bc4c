"""The expected best score of random search by number of trials."""

import numpy as np

from harness.analysis.statistics.bootstrap import Array


def expected_best(scores: Array, *, replacement: bool = True) -> tuple[Array, Array]:
    """Expected validation score of the best of n = 1 .. B trials, and its variance.

    For n draws with replacement from the B trials, the best is at most v with probability (share of
    trials that are at most v)^n (Dodge et al. 2019, "Show Your Work", section 3.1, equation 1; the
    variance as in section 3.2). Drawing with replacement is biased low, most for n close to B.
    Without replacement the mean is unbiased (Tang et al. 2020, "Showing Your Work Doesn't Always
    Work", section 3), but the variance goes to 0 at n = B, where only one choice is left.

    Args:
        scores: [B], of trials drawn independently and at random from one space.
        replacement: whether a trial may be drawn twice.

    Returns:
        Means [B] and variances [B]; entry n - 1 is that of n trials.

    Raises:
        ValueError: no scores, or a score that is not finite.
    """
    values = np.sort(np.asarray(scores, dtype=np.float64))
    if not len(values) or not np.isfinite(values).all():
        raise ValueError(f"needs at least one score, all finite, but got {list(scores)}")
    size = len(values)
    gone = (0 if replacement else 1) * np.arange(size)[:, None]  # trials drawn before
    shares = np.maximum(np.arange(size + 1) - gone, 0) / (size - gone)
    masses = np.diff(np.cumprod(shares, axis=0), axis=1)  # ties share their mass
    means = masses @ values
    return means, (masses * (values - means[:, None]) ** 2).sum(axis=1)
