"""Accuracies by hand: ties, missing scores, and the mean over categories."""

import numpy as np
import pytest

from harness.tasks.probes.accuracy import accuracy_by_category, cloze_values, minimal_pair_values

NAN, INF = np.nan, np.inf


def test_a_pair_is_right_wrong_tied_or_null() -> None:
    good = np.array([-1.0, -2.0, -3.0, NAN, -1.0, -INF, -1.0])
    bad = np.array([-2.0, -1.0, -3.0, -1.0, NAN, -INF, -INF])
    expected = [1, 0, 0.5, NAN, NAN, 0.5, 1]
    np.testing.assert_array_equal(minimal_pair_values(good, bad), expected)


def test_candidates_share_a_tie_equally() -> None:
    scores = [
        [-1.0, -2.0, -3.0],
        [-2.0, -1.0, -3.0],
        [-1.0, -1.0, -3.0],
        [-1.0, -3.0, -1.0],
        [-3.0, -1.0, -1.0],
        [-1.0, -1.0, -1.0],
    ]
    expected = [1, 0, 1 / 2, 1 / 2, 0, 1 / 3]
    np.testing.assert_allclose(cloze_values(np.array(scores), np.zeros(6, int)), expected)


def test_an_item_of_fewer_candidates_is_padded() -> None:
    scores = np.array([[-1.0, -1.0, -INF, -INF], [-2.0, -1.0, -INF, -INF]])
    np.testing.assert_array_equal(cloze_values(scores, np.array([1, 1])), [0.5, 1])


def test_a_cloze_item_with_a_missing_score_is_null() -> None:
    scores = np.array([[-1.0, NAN], [NAN, -1.0], [-INF, -INF]])
    assert np.isnan(cloze_values(scores, np.array([0, 0, 0]))).all()


def test_the_overall_accuracy_is_the_mean_of_the_categories() -> None:
    means = accuracy_by_category(["b", "a", "b", "b"], np.array([1.0, 0.5, 0.0, 1.0]))
    assert list(means) == ["b", "a", "overall"]
    assert means == pytest.approx({"b": 2 / 3, "a": 0.5, "overall": (2 / 3 + 0.5) / 2})


def test_a_null_makes_its_category_and_the_overall_null() -> None:
    means = accuracy_by_category(["a", "a", "b"], np.array([1.0, NAN, 1.0]))
    assert means["b"] == 1 and np.isnan(means["a"]) and np.isnan(means["overall"])


def test_pairs_are_cloze_items_of_two_candidates() -> None:
    scores = np.random.default_rng(0).integers(-3, 0, (100, 2)).astype(float)
    pairs = minimal_pair_values(scores[:, 0], scores[:, 1])
    np.testing.assert_array_equal(pairs, cloze_values(scores, np.zeros(100, int)))


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="every pair needs two scores"):
        minimal_pair_values(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="scores must be"):
        cloze_values(np.zeros((2, 2)), np.zeros(3, int))
    with pytest.raises(ValueError, match="at least one item"):
        accuracy_by_category([], np.zeros(0))
