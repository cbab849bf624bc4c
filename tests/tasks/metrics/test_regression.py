"""Correlations against numpy and scipy, and the two ways of putting subsets together."""

import math

import numpy as np
import pytest
import torch
import torchmetrics.functional as oracle
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from harness.tasks.metrics import METRICS

values = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=40
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


def mean_ranks(column):
    """Rank of each value; ties have their mean rank."""
    return np.array([np.flatnonzero(np.sort(column) == value).mean() for value in column])


@given(values)
def test_correlations_equal_numpy(rows):
    labels, predictions = np.array(rows).T
    expected = np.corrcoef(labels, predictions)[0, 1]
    assert METRICS["pearson"](labels, predictions) == pytest.approx(expected, abs=1e-9)
    expected = np.corrcoef(mean_ranks(labels), mean_ranks(predictions))[0, 1]
    assert METRICS["spearman"](labels, predictions) == pytest.approx(expected, abs=1e-9)


def test_small_deviations_from_a_large_mean_equal_scipy():
    labels, predictions = np.random.default_rng(0).normal(size=(2, 1000))
    labels, predictions = 1e6 + labels, 1e-6 * predictions + labels
    expected = pearsonr(predictions, labels).statistic
    assert METRICS["pearson"](labels, predictions) == pytest.approx(expected, abs=1e-9)
    expected = spearmanr(predictions, labels).statistic
    assert METRICS["spearman"](labels, predictions) == pytest.approx(expected, abs=1e-9)


def test_spearman_of_torchmetrics_is_less_than_one_for_equal_ranks():
    """A constant is added to the product of its standard deviations."""
    values = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    assert oracle.spearman_corrcoef(values, values).item() < 1 - 1e-6
    assert METRICS["spearman"](values.numpy(), values.numpy()) == pytest.approx(1, abs=1e-12)


def test_pearson_of_torchmetrics_is_a_number_for_a_constant():
    """The mean of three times 0.1 is not 0.1."""
    constant, labels = np.full(3, 0.1), np.arange(3.0)
    theirs = oracle.pearson_corrcoef(torch.tensor(constant), torch.tensor(labels))
    assert torch.isfinite(theirs)
    assert math.isnan(METRICS["pearson"](labels, constant))


def test_large_offsets_do_not_cancel():
    labels = np.array([1.0, 2, 3, 5])
    predictions = np.array([2.0, 1, 4, 4])
    counts = METRICS["pearson"].counts(labels + 1e9, predictions * 1e-6, None, ())
    found = METRICS["pearson"].from_counts(counts.sum(axis=0))
    assert found == pytest.approx(np.corrcoef(labels, predictions)[0, 1], abs=1e-9)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
def test_a_constant_has_no_correlation_and_counts_as_zero(name, constant):
    labels, predictions = np.array([0.0, 1, 2, 3]), np.full(4, constant)
    metric = METRICS[name]
    assert math.isnan(metric(labels, predictions))
    assert math.isnan(metric(predictions, labels))
    counts = metric.counts(labels, predictions, None, ())
    assert metric.from_counts(np.array([3.0, 0, 1, 0]) @ counts) == 0


def test_one_correlation_over_all_is_not_the_mean_of_those_of_the_subsets():
    """STS: within both subsets the order is perfect, but their levels are mixed up."""
    labels = np.array([1.0, 2, 3, 4, 5, 6])
    predictions = np.array([4.0, 5, 6, 1, 2, 3])
    groups = np.array(list("xxxyyy"), dtype=object)
    assert METRICS["spearman_mean_of_groups"](labels, predictions, groups) == pytest.approx(1.0)
    # 1 - 6 x (6 x 3^2) / (6 x 35)
    assert METRICS["spearman"](labels, predictions) == pytest.approx(1 - 324 / 210)


def test_the_mean_of_subsets_counts_each_the_same():
    rng = np.random.default_rng(0)
    labels, predictions = rng.random((2, 60))
    groups = np.array(["a"] * 5 + ["b"] * 40 + ["c"] * 15, dtype=object)
    parts = [
        float(oracle.spearman_corrcoef(torch.tensor(predictions[rows]), torch.tensor(labels[rows])))
        for rows in (groups == name for name in "abc")
    ]
    found = METRICS["spearman_mean_of_groups"](labels, predictions, groups)
    assert found == pytest.approx(np.mean(parts), abs=1e-6)


def test_a_constant_subset_leaves_the_mean_undefined():
    labels, predictions = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 3])
    groups = np.array(list("xxyy"), dtype=object)
    metric = METRICS["spearman_mean_of_groups"]
    assert math.isnan(metric(labels, predictions, groups))
    assert metric.from_counts(metric.counts(labels, predictions, groups, ()).sum(axis=0)) == 0.5


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_a_resample_of_one_example_has_no_correlation(name):
    """Whose variances are rounding errors of either sign."""
    labels, predictions = np.random.default_rng(0).normal(size=(2, 50)) + 3
    counts = METRICS[name].counts(labels, predictions, None, ())
    for weight in (3, 7, 50):
        assert not METRICS[name].from_counts(weight * counts).any()
