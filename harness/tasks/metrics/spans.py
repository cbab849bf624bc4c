"""Metrics of short answers: exact match and token F1 of SQuAD (Rajpurkar et al. 2016, 2018).

Data in which every question has an answer are scored as by the official script evaluate-v1.1, data
with questions without an answer as by evaluate-v2.0. The scripts differ where an answer normalises
to nothing, such as "The": 1.1 compares it, with an F1 of 0; 2.0 drops it.
"""

import re
from functools import lru_cache
from string import punctuation
from typing import Any

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    double_precision,
    mean_metric,
)

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", punctuation)


def normalise(text: str) -> str:
    """`text` in lower case, without punctuation and articles, with single spaces."""
    # Punctuation before articles, as in the official script: `the-one` keeps its `the`.
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact(answer: str, reference: str) -> float:
    """1 if both texts are equal after `normalise`, else 0."""
    return float(normalise(answer) == normalise(reference))


def references(label: Any) -> tuple[str, ...]:
    """Correct answers of an `Answers` or a tuple of texts by the rules of SQuAD 2.0; the empty text
    if there are none."""
    return tuple(text for text in _texts(label) if normalise(text)) or ("",)


def _texts(label: Any) -> tuple[str, ...]:
    return tuple(getattr(label, "texts", label))


@lru_cache(maxsize=100_000)  # the score and the counts of a run, for both metrics
def squad(answer: str, correct: tuple[str, ...]) -> dict[str, float]:
    """`exact_match` and `f1` of an answer in 0..1, with the best of the correct ones; two texts
    that normalise to nothing have an F1 of 1, as in SQuAD 2.0."""
    from torchmetrics.functional.text import squad

    answers: Any = {"text": list(correct), "answer_start": [0] * len(correct)}
    with double_precision():
        found = squad({"id": "", "prediction_text": answer}, {"id": "", "answers": answers})
    return {name: float(score) / 100 for name, score in found.items()}


def _by_version_1(answer: str, label: Any) -> dict[str, float]:
    found = squad(answer, _texts(label))
    return found if normalise(answer) else {**found, "f1": 0.0}  # no word in common


def _by_version_2(answer: str, label: Any) -> dict[str, float]:
    return squad(answer, references(label))


def _metric(name: str, key: str) -> Metric:
    """The mean over examples of a score of `squad`."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        score = _by_version_1 if all(map(_texts, labels)) else _by_version_2
        pairs = zip(predictions, labels, strict=True)
        return np.array([score(str(text), gold)[key] for text, gold in pairs])

    note = "as in SQuAD: lower case, no articles and punctuation, best of the right answers"
    return mean_metric(name, scores, note)


SPAN_METRICS: tuple[Metric, ...] = (
    _metric("exact_match", "exact_match"),
    _metric("token_f1", "f1"),
)
