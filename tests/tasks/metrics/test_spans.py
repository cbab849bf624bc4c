"""Exact match and token F1 against SQuAD's official script, and its normalisation by hand."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.examples import Answers
from harness.tasks.metrics import METRICS

words = st.sampled_from(["the", "A", "an", "cat", "Cat's", "co-op", "theatre", "1,000", "!", "an-"])
texts = st.lists(words, max_size=5).map(" ".join)


def scores(label, prediction):
    return tuple(METRICS[name]([label], [prediction]) for name in ("exact_match", "token_f1"))


# The official scripts, evaluate-v1.1.py and evaluate-v2.0.py. Their normalisation is the same.


def normalize_answer(text):
    text = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1_score_of_version_1(prediction, ground_truth):
    prediction_tokens = normalize_answer(prediction).split()
    ground_truth_tokens = normalize_answer(ground_truth).split()
    num_same = sum((Counter(prediction_tokens) & Counter(ground_truth_tokens)).values())
    if num_same == 0:
        return 0
    precision = 1.0 * num_same / len(prediction_tokens)
    recall = 1.0 * num_same / len(ground_truth_tokens)
    return (2 * precision * recall) / (precision + recall)


def exact_match_score_of_version_1(prediction, ground_truth):
    return normalize_answer(prediction) == normalize_answer(ground_truth)


def evaluate_version_1(questions):
    """(exact match, F1) of pairs of correct answers and a prediction."""
    f1 = exact_match = 0
    for ground_truths, prediction in questions:
        exact_match += max(exact_match_score_of_version_1(prediction, g) for g in ground_truths)
        f1 += max(f1_score_of_version_1(prediction, g) for g in ground_truths)
    return exact_match / len(questions), f1 / len(questions)


def compute_exact(a_gold, a_pred):
    return int(normalize_answer(a_gold) == normalize_answer(a_pred))


def compute_f1(a_gold, a_pred):
    gold_toks, pred_toks = normalize_answer(a_gold).split(), normalize_answer(a_pred).split()
    num_same = sum((Counter(gold_toks) & Counter(pred_toks)).values())
    if len(gold_toks) == 0 or len(pred_toks) == 0:
        return int(gold_toks == pred_toks)
    if num_same == 0:
        return 0
    precision, recall = 1.0 * num_same / len(pred_toks), 1.0 * num_same / len(gold_toks)
    return (2 * precision * recall) / (precision + recall)


def evaluate_version_2(questions):
    """(exact match, F1) of pairs of correct answers and a prediction."""
    exact_scores, f1_scores = [], []
    for answers, a_pred in questions:
        gold_answers = [a for a in answers if normalize_answer(a)] or [""]
        exact_scores.append(max(compute_exact(a, a_pred) for a in gold_answers))
        f1_scores.append(max(compute_f1(a, a_pred) for a in gold_answers))
    return sum(exact_scores) / len(exact_scores), sum(f1_scores) / len(f1_scores)


def scored(questions):
    labels, predictions = [tuple(gold) for gold, _ in questions], [text for _, text in questions]
    return tuple(METRICS[name](labels, predictions) for name in ("exact_match", "token_f1"))


some = st.tuples(st.lists(texts, min_size=1, max_size=3), texts)
none = st.tuples(st.lists(texts, max_size=0), texts)


@given(st.lists(some, min_size=1, max_size=6))
def test_data_whose_questions_all_have_answers_are_scored_by_version_1(questions):
    assert scored(questions) == pytest.approx(evaluate_version_1(questions), abs=1e-12)


@given(st.lists(some, max_size=5), st.lists(none, min_size=1, max_size=3))
def test_data_with_questions_without_answers_are_scored_by_version_2(answered, unanswered):
    for questions in (answered + unanswered, unanswered + answered):
        assert scored(questions) == pytest.approx(evaluate_version_2(questions), abs=1e-12)


@pytest.mark.parametrize(
    ("gold", "answer", "first", "second"),
    [
        (("The",), "a", (1, 0), (1, 1)),
        (("the", "cat"), "", (1, 0), (0, 0)),
        (("The",), "cat", (0, 0), (0, 0)),
        (("the", "cat"), "cat", (1, 1), (1, 1)),
    ],
)
def test_the_versions_differ_where_an_answer_is_nothing(gold, answer, first, second):
    assert scored([(gold, answer)]) == evaluate_version_1([(gold, answer)]) == first
    both = [(gold, answer), ((), "London")]  # the second has no answer, and scores 0
    assert scored(both) == evaluate_version_2(both) == tuple(score / 2 for score in second)


@pytest.mark.parametrize(
    ("gold", "answer", "exact", "f1"),
    [
        ("The Eiffel Tower", "eiffel tower.", 1, 1),  # articles, punctuation, case
        ("an  apple", "Apple!", 1, 1),
        ("theatre", "atre", 0, 0),  # an article is a whole word
        ("co-op", "coop", 1, 1),  # punctuation leaves no space
        ("in the end of May", "end of June", 0, 4 / 7),  # in end of May: 2 of 3, 2 of 4
        ("cat cat dog", "cat", 0, 1 / 2),  # words count as often as they occur
        ("café", "cafe", 0, 0),
    ],
)
def test_normalisation(gold, answer, exact, f1):
    assert scores(Answers((gold,), (0,)), answer) == pytest.approx((exact, f1))


def test_the_best_right_answer_counts():
    label = Answers(("in 1066", "1066", "the year 1066"), (0, 3, 9))
    assert scores(label, "year 1066") == (1, 1)
    assert scores(label, "1066 AD") == pytest.approx((0, 2 / 3))


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [((), "", (1, 1)), ((), "London", (0, 0)), (("London",), "", (0, 0)), ((), "the", (1, 1))],
)
def test_questions_without_an_answer(gold, answer, expected):
    assert scores(Answers(gold, (0,) * len(gold)), answer) == expected


def test_scores_are_means_over_questions():
    labels = [Answers(("one two",), (0,)), Answers((), ())]
    assert METRICS["token_f1"](labels, ["one", ""]) == pytest.approx((2 / 3 + 1) / 2)
    assert METRICS["exact_match"](labels, ["one", ""]) == 0.5
