"""Exact match and token F1 against SQuAD's official script, and its normalisation by hand."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.text import squad

from harness.tasks.examples import Answers
from harness.tasks.metrics import METRICS

words = st.sampled_from(["the", "A", "an", "cat", "Cat's", "co-op", "theatre", "1,000", "!", "an-"])
texts = st.lists(words, max_size=5).map(" ".join)


def scores(label, prediction):
    return tuple(METRICS[name]([label], [prediction]) for name in ("exact_match", "token_f1"))


def normalise_answer(text):
    """As evaluate-v2.0.py."""
    text = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.compile(r"\b(a|an|the)\b", re.UNICODE).sub(" ", text).split())


def compute_exact(gold, answer):
    """As evaluate-v2.0.py."""
    return int(normalise_answer(gold) == normalise_answer(answer))


def compute_f1(gold, answer):
    """As evaluate-v2.0.py."""
    gold_words, words = normalise_answer(gold).split(), normalise_answer(answer).split()
    same = sum((Counter(gold_words) & Counter(words)).values())
    if not gold_words or not words:
        return int(gold_words == words)
    if same == 0:
        return 0
    precision, recall = same / len(words), same / len(gold_words)
    return (2 * precision * recall) / (precision + recall)


@given(st.lists(st.tuples(st.lists(texts, max_size=3), texts), min_size=1, max_size=6))
def test_scores_equal_the_official_script(rows):
    labels, predictions = [tuple(gold) for gold, _ in rows], [text for _, text in rows]
    for name, compute in (("exact_match", compute_exact), ("token_f1", compute_f1)):
        each = [
            max(compute(one, text) for one in [g for g in gold if normalise_answer(g)] or [""])
            for gold, text in rows
        ]
        expected = sum(each) / len(each)
        assert METRICS[name](labels, predictions) == pytest.approx(expected, abs=1e-12)


def test_a_correct_answer_without_a_word_is_dropped_unlike_in_torchmetrics():
    """As evaluate-v2.0 does: of "the" and "cat", only the second is an answer."""
    found = squad(
        {"id": "1", "prediction_text": ""},
        {"id": "1", "answers": {"text": ["the", "cat"], "answer_start": [0, 0]}},
    )
    assert found["exact_match"] == found["f1"] == 100
    assert scores(("the", "cat"), "") == (0, 0)


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
        ("the", "a", 1, 1),  # both are nothing
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
