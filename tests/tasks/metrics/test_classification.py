"""Metrics of classes against scikit-learn and by hand, and on degenerate input."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle
from torchmetrics.functional.classification import binary_accuracy, binary_matthews_corrcoef

from harness.tasks.metrics import METRICS, classification
from harness.tasks.metrics.classification import whole

CLASS_METRICS = ("accuracy", "f1", "matthews")
pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)
triples = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2)), min_size=2, max_size=40)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows)
    return table[:, 0], table[:, 1]


@given(pairs)
def test_matthews_equals_its_formula(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    tp, tn, fp, fn = (
        int(np.sum((labels == a) & (predictions == b))) for a, b in ((1, 1), (0, 0), (0, 1), (1, 0))
    )
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = (tp * tn - fp * fn) / root if root else 0.0
    assert METRICS["matthews"](labels, predictions) == pytest.approx(expected, abs=1e-9)


def test_accuracy_counts_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of 80 tags take 10 kB for each word of a development set."""
    monkeypatch.delattr(classification, "_class_counts")
    assert METRICS["accuracy"](np.array([0, 79, -1]), np.array([0, 7, -1])) == 2 / 3
    assert METRICS["accuracy_tags"]([(0, 79), (3,)], [(0, 7), (3,)]) == 2 / 3


@given(triples)
def test_metrics_of_classes_equal_scikit_learn(rows: list[tuple[int, int]]) -> None:
    labels, predictions = columns(rows)
    accuracy = oracle.accuracy_score(labels, predictions)
    constant = len(set(labels)) == 1 or len(set(predictions)) == 1
    expected = {
        "accuracy": accuracy,
        "micro_f1": accuracy,
        "f1": oracle.f1_score(labels == 1, predictions == 1, zero_division=0),
        "macro_f1": oracle.f1_score(
            labels, predictions, labels=[0, 1, 2], average="macro", zero_division=0
        ),
        "matthews": 0 if constant else oracle.matthews_corrcoef(labels, predictions),
    }
    for name, value in expected.items():
        found = METRICS[name](labels, predictions, names=("a", "b", "c"))
        assert found == pytest.approx(value, abs=1e-12), name


def test_a_quotient_of_torchmetrics_prints_another_digit() -> None:
    """365 of 400 are 91.25 %, which rounds to even; in float32 it is a little more."""
    labels, predictions = np.ones(400), np.repeat([1.0, 0.0], [365, 35])
    theirs = binary_accuracy(torch.tensor(predictions), torch.tensor(labels).int())
    assert f"{100 * float(theirs):.1f}" == "91.3"
    assert f"{100 * METRICS['accuracy'](labels, predictions):.1f}" == "91.2"


def test_matthews_of_torchmetrics_is_not_zero_for_constant_predictions() -> None:
    labels, predictions = np.array([0, 1, 1, 1]), np.ones(4)
    theirs = binary_matthews_corrcoef(torch.ones(4), torch.tensor(labels))
    assert theirs.abs() > 0.1
    assert METRICS["matthews"](labels, predictions) == 0


def test_a_class_that_never_occurs_counts_zero() -> None:
    labels = np.array([0, 0, 1])
    assert METRICS["macro_f1"](labels, labels, names=("a", "b")) == 1.0
    assert METRICS["macro_f1"](labels, labels, names=("a", "b", "c")) == pytest.approx(2 / 3)


def test_no_class_is_wrong_everywhere() -> None:
    labels, predictions = np.array([0, 1, 1, 0]), np.array([-1.0, 1.0, np.nan, 0.0])
    names = ("no", "yes")
    expected = {"accuracy": 0.5, "micro_f1": 0.5, "f1": 2 / 3, "macro_f1": 2 / 3}
    # Gorodkin 2004 with no class as a third: (2 x 4 - 4) / sqrt((16 - 6) (16 - 8)).
    expected["matthews"] = 4 / math.sqrt(80)
    for name, value in expected.items():
        assert METRICS[name](labels, predictions, names=names) == pytest.approx(value), name


def test_always_positive_has_two_thirds_on_balanced_classes() -> None:
    labels = np.array([0, 1] * 10)
    assert METRICS["f1"](labels, np.ones(20)) == pytest.approx(0.667, abs=5e-4)


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


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_all_right(name: str, label: int) -> None:
    same = np.full(3, label)
    expected = {"accuracy": 1.0, "f1": float(label), "matthews": 0.0}
    assert METRICS[name](same, same) == expected[name]


def test_numbers_that_are_not_whole_are_no_class() -> None:
    assert whole(np.array([0.5, np.inf, -np.inf, np.nan, 2.0])).tolist() == [-1, -1, -1, -1, 2]


@pytest.mark.parametrize("name", ["macro_f1", "matthews"])
def test_classes_without_names_are_those_up_to_the_highest(name: str) -> None:
    labels, predictions = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    metric, names = METRICS[name], ("a", "b", "c")
    assert metric(labels, predictions) == metric(labels, predictions, names=names)
    one, other = (metric.counts(labels, predictions, None, known) for known in ((), names))
    assert np.array_equal(one, other)


answer_rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-1, 1), st.sampled_from(["q1", "q2", "q3"])),
    min_size=1,
    max_size=20,
)


@given(answer_rows)
def test_scores_of_groups_equal_loops_over_the_questions(rows):
    labels, predictions, groups = (np.array(side, dtype=object) for side in zip(*rows, strict=True))
    right = [all(a == b for a, b, group in rows if group == name) for name in set(groups)]
    found = METRICS["exact_match_groups"](labels, predictions, groups)
    assert found == pytest.approx(np.mean(right))
    both = sum(a == b == 1 for a, b, _ in rows)
    total = sum((a == 1) + (b == 1) for a, b, _ in rows)
    found = METRICS["f1_answers"](labels, predictions, groups)
    assert found == pytest.approx(2 * both / total if total else 0.0)


def test_answers_of_one_question_need_not_be_adjacent():
    labels, predictions = np.array([1, 0, 1, 0, 1]), np.array([1, 1, 1, 0, 0])
    groups = np.array(["q1", "q2", "q1", "q2", "q3"], dtype=object)
    assert METRICS["exact_match_groups"](labels, predictions, groups) == pytest.approx(1 / 3)
    # F1 of all five answers (2 of 3 predicted, 2 of 3 true), not the mean over questions.
    assert METRICS["f1_answers"](labels, predictions, groups) == pytest.approx(2 / 3)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=9))
def test_parity_is_the_share_of_neighbours_answered_alike(pairs):
    """The loop over the rows 2k and 2k + 1 of SuperGLUE's toolkit, in which all have a class."""
    predictions = np.array(pairs).ravel()
    groups = np.array([str(row // 2) for row in range(len(predictions))], dtype=object)
    alike = [
        predictions[row] == predictions[row + 1] != -1 for row in range(0, len(predictions), 2)
    ]
    found = METRICS["parity"](np.zeros(len(predictions)), predictions, groups)
    assert found == pytest.approx(np.mean(alike))


def test_constant_answers_have_full_parity():
    """As the most frequent class and CBoW on the leaderboard: parity 100, accuracy 50."""
    labels, groups = np.array([0, 0, 1, 1]), np.array(list("ccdd"), dtype=object)
    assert METRICS["parity"](labels, np.ones(4), groups) == 1.0
    assert METRICS["accuracy"](labels, np.ones(4)) == 0.5
    assert METRICS["parity"](labels, np.array([0, 0, 0, 1]), groups) == 0.5
    assert METRICS["parity"](labels, np.array([np.nan, np.nan, 0, 0]), groups) == 0.5


def test_metrics_of_groups_have_groups_as_units():
    labels, groups = np.array([1, 0, 1]), np.array(["b", "a", "b"], dtype=object)
    f1 = METRICS["f1_answers"].counts(labels, np.array([1, 1, 0]), groups, ())
    exact = METRICS["exact_match_groups"].counts(labels, np.array([1, 1, 0]), groups, ())
    assert np.array_equal(f1, [[0, 1], [1, 3]])  # group a, group b
    assert np.array_equal(exact, [[0, 1], [0, 1]])
