"""Exact match and token F1 against torchmetrics' SQuAD, and its normalisation by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.text import squad

from harness.tasks.examples import Answers
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.spans import references

words = st.sampled_from(["the", "A", "an", "cat", "Cat's", "co-op", "theatre", "1,000", "!", "an-"])
texts = st.lists(words, max_size=5).map(" ".join)


def scores(label, prediction):
    return tuple(METRICS[name]([label], [prediction]) for name in ("exact_match", "token_f1"))


@given(st.lists(st.tuples(st.lists(texts, min_size=1, max_size=3), texts), min_size=1, max_size=6))
def test_scores_equal_torchmetrics(rows):
    labels = [tuple(gold) for gold, _ in rows]
    predictions = [text for _, text in rows]
    given = [{"id": str(i), "prediction_text": text} for i, text in enumerate(predictions)]
    wanted = [  # gold answers without a word are dropped before, as evaluate-v2.0 does
        {"id": str(i), "answers": {"text": list(references(gold)), "answer_start": [0] * len(gold)}}
        for i, gold in enumerate(labels)
    ]
    expected = squad(given, wanted)
    for name, theirs in (("exact_match", "exact_match"), ("token_f1", "f1")):
        found = 100 * METRICS[name](labels, predictions)
        assert found == pytest.approx(float(expected[theirs]), abs=1e-4)


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
