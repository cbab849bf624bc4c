"""Correlations, over all examples or as a mean over groups."""

import numpy as np

from harness.tasks.metrics.metric import Array, Groups, Metric, Names, divide, members

MOMENTS = 6
"""Number of columns of `moments`."""
ROUNDING = 1e-12
"""Share of a mean square below which a variance counts as rounding error of a constant."""


def pearson(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Pearson correlation of [num_examples] values; NaN if labels or predictions are constant."""
    return _pearson(_real(predictions), _real(labels))


def spearman(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Rank correlation of [num_examples] values, with mean ranks for ties; NaN if labels or
    predictions are constant."""
    return _pearson(_ranks(predictions), _ranks(labels))


def spearman_mean_of_groups(
    labels: Array, predictions: Array, groups: Groups, names: Names
) -> float:
    """Mean over the groups of `spearman` of [num_members] values; NaN if that of any group is."""
    parts = [spearman(labels[rows], predictions[rows], None, names) for rows in members(groups)]
    return float(np.mean(parts))


def pearson_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, MOMENTS]: `moments` of predictions and labels."""
    return moments(_real(predictions), _real(labels))


def spearman_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, MOMENTS]: `moments` of the ranks in the full sample.

    Exact for the sample, an approximation for resamples, whose ranks are not recomputed: both
    estimate the same rank correlation, and ranking every replicate would be expensive.
    """
    return moments(_ranks(predictions), _ranks(labels))


def spearman_mean_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, num_groups x MOMENTS]: `spearman_counts`, in the columns of the group."""
    parts = members(groups)
    counts = np.zeros((len(labels), len(parts), MOMENTS))
    for number, rows in enumerate(parts):
        counts[rows, number] = spearman_counts(labels[rows], predictions[rows], None, names)
    return counts.reshape(len(labels), -1)


def spearman_mean_from_counts(sums: Array) -> Array:
    """[...] mean over the groups of `correlation`, from [..., num_groups x MOMENTS]."""
    parts = correlation(sums.reshape(*sums.shape[:-1], -1, MOMENTS))
    return np.asarray(parts.mean(axis=-1))


def moments(x: Array, y: Array) -> Array:
    """[num_examples, MOMENTS]: 1, x, y, x^2, y^2, xy, with x and y standardised.

    Standardisation does not change a correlation, but avoids the cancellation of large offsets.
    """
    x, y = _standard(x), _standard(y)
    return np.stack([np.ones(len(x)), x, y, x**2, y**2, x * y], axis=1)


def correlation(sums: Array) -> Array:
    """[...] Pearson correlation from [..., MOMENTS] sums; 0 if x or y is constant."""
    total = sums[..., 0]
    mean_x, mean_y, square_x, square_y, product = (
        divide(sums[..., column], total) for column in range(1, MOMENTS)
    )
    variance = _variance(square_x, mean_x**2) * _variance(square_y, mean_y**2)
    return divide(product - mean_x * mean_y, np.sqrt(variance))


def _variance(total: Array, square: Array) -> Array:
    """total - square, or 0 if the difference is a rounding error."""
    variance = total - square
    return np.where(variance > ROUNDING * total, variance, 0.0)


def _pearson(x: Array, y: Array) -> float:
    """Correlation of float64 values [num_examples]; torchmetrics does not recognise the constants
    whose deviations from the mean are rounding errors."""
    import torch
    from torchmetrics.functional.regression import pearson_corrcoef

    if _constant(x) or _constant(y):
        return float("nan")
    return float(pearson_corrcoef(torch.tensor(x), torch.tensor(y)))


def _ranks(values: Array) -> Array:
    """[num_examples] float64 ranks from 1; ties have their mean. torchmetrics' are float32."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(_real(values)), dtype=np.float64)


def _real(values: Array) -> Array:
    return np.asarray(values, dtype=np.float64)


def _constant(values: Array) -> bool:
    return bool(np.all(values == values[0]))


def _standard(values: Array) -> Array:
    """Values with mean 0 and variance 1; zeros for a constant, whose deviations are rounding
    errors."""
    if _constant(values):
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


VALUE_METRICS: tuple[Metric, ...] = (
    Metric("pearson", pearson, pearson_counts, correlation, least=-1.0),
    Metric(
        "spearman",
        spearman,
        spearman_counts,
        correlation,
        note="one correlation over all examples",
        least=-1.0,
    ),
    Metric(
        "spearman_mean_of_groups",
        spearman_mean_of_groups,
        spearman_mean_counts,
        spearman_mean_from_counts,
        note="unweighted mean of the Spearman correlation in each subset",
        grouped=True,
        least=-1.0,
    ),
)
