"""MultiRC: answers in groups, against loops over the questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.metrics import METRICS

rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-1, 1), st.sampled_from(["q1", "q2", "q3"])),
    min_size=1,
    max_size=20,
)


@given(rows)
def test_scores_equal_loops_over_the_questions(rows):
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


def test_both_have_the_groups_as_units():
    labels, groups = np.array([1, 0, 1]), np.array(["b", "a", "b"], dtype=object)
    f1 = METRICS["f1_answers"].counts(labels, np.array([1, 1, 0]), groups, ())
    exact = METRICS["exact_match_groups"].counts(labels, np.array([1, 1, 0]), groups, ())
    assert np.array_equal(f1, [[0, 1], [1, 3]])  # group a, group b
    assert np.array_equal(exact, [[0, 1], [0, 1]])
