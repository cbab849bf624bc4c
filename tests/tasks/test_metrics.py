"""Metrics against independent implementations, and on degenerate input."""

import math

import numpy as np
import pytest
import torch
import torchmetrics.functional as oracle
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.metrics import METRICS

CLASS_METRICS = ("accuracy", "f1", "matthews")
pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)
triples = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=40)
values = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=40
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows)
    return table[:, 0], table[:, 1]


def mean_ranks(column: np.ndarray) -> np.ndarray:
    """Place in the sorted column; equal values share the mean of theirs."""
    return np.array([np.flatnonzero(np.sort(column) == value).mean() for value in column])


@given(pairs)
def test_binary_metrics_equal_torchmetrics(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    truth, guess = torch.tensor(labels), torch.tensor(predictions)
    expected = {
        "accuracy": oracle.accuracy(guess, truth, task="binary"),
        "f1": oracle.f1_score(guess, truth, task="binary"),
    }
    for name, value in expected.items():
        assert METRICS[name](labels, predictions) == pytest.approx(float(value), abs=1e-6)


@given(pairs)
def test_matthews_equals_its_formula(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    tp, tn, fp, fn = (
        int(np.sum((labels == a) & (predictions == b))) for a, b in ((1, 1), (0, 0), (0, 1), (1, 0))
    )
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = (tp * tn - fp * fn) / root if root else 0.0
    assert METRICS["matthews"](labels, predictions) == pytest.approx(expected, abs=1e-9)


@given(triples)
def test_three_classes_equal_torchmetrics(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    truth, guess = torch.tensor(labels), torch.tensor(predictions)
    accuracy = oracle.accuracy(guess, truth, task="multiclass", num_classes=3, average="micro")
    assert METRICS["accuracy"](labels, predictions) == pytest.approx(float(accuracy), abs=1e-6)
    if len(set(labels)) > 1 and len(set(predictions)) > 1:
        matthews = oracle.matthews_corrcoef(guess, truth, task="multiclass", num_classes=3)
        assert METRICS["matthews"](labels, predictions) == pytest.approx(float(matthews), abs=1e-5)


@given(values)
def test_correlations_equal_numpy(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    expected = np.corrcoef(labels, predictions)[0, 1]
    assert METRICS["pearson"](labels, predictions) == pytest.approx(expected, abs=1e-9)
    expected = np.corrcoef(mean_ranks(labels), mean_ranks(predictions))[0, 1]
    assert METRICS["spearman"](labels, predictions) == pytest.approx(expected, abs=1e-9)


def test_hand_computed() -> None:
    labels, predictions = np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])
    assert METRICS["accuracy"](labels, predictions) == 3 / 5
    assert METRICS["f1"](labels, predictions) == pytest.approx(2 / 3)
    assert METRICS["matthews"](labels, predictions) == pytest.approx(1 / 6)


@pytest.mark.parametrize("constant", [0, 1])
def test_constant_predictions(constant: int) -> None:
    labels, predictions = np.array([0, 1, 0, 1]), np.full(4, constant)
    assert METRICS["accuracy"](labels, predictions) == 0.5
    assert METRICS["f1"](labels, predictions) == pytest.approx(2 / 3 if constant else 0.0)
    assert METRICS["matthews"](labels, predictions) == 0.0
    assert math.isnan(METRICS["pearson"](labels, predictions))
    assert math.isnan(METRICS["spearman"](labels, predictions))


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_all_right(name: str, label: int) -> None:
    same = np.full(3, label)
    expected = {"accuracy": 1.0, "f1": float(label), "matthews": 0.0}
    assert METRICS[name](same, same) == expected[name]


@pytest.mark.parametrize("name", METRICS)
def test_unequal_or_no_examples_are_refused(name: str) -> None:
    for labels, predictions in ((np.zeros(2), np.zeros(3)), (np.zeros(0), np.zeros(0))):
        with pytest.raises(ValueError, match="as many predictions as labels and at least one"):
            METRICS[name](labels, predictions)


def test_all_are_better_when_higher() -> None:
    labels = np.array([0, 1, 0, 1, 1])
    for metric in METRICS.values():
        assert metric.higher_is_better
        assert metric(labels, labels) == pytest.approx(1.0)
