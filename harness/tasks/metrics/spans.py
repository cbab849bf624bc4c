"""Metrics of short answers: exact match and token F1 of SQuAD (Rajpurkar et al. 2016, 2018).

torchmetrics follows the official script evaluate-v1.1; `references` adds the rules of
evaluate-v2.0 for questions without an answer.
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
    """Correct answers of an `Answers` or a tuple of texts; the empty text if there are none."""
    texts = getattr(label, "texts", label)
    return tuple(text for text in texts if normalise(text)) or ("",)


@lru_cache(maxsize=100_000)  # the score and the counts of a run, for both metrics
def squad(answer: str, correct: tuple[str, ...]) -> dict[str, float]:
    """`exact_match` and `f1` of an answer in 0..1, with the best of the correct ones."""
    from torchmetrics.functional.text import squad

    answers: Any = {"text": list(correct), "answer_start": [0] * len(correct)}
    with double_precision():
        found = squad({"id": "", "prediction_text": answer}, {"id": "", "answers": answers})
    return {name: float(score) / 100 for name, score in found.items()}


def _metric(name: str, key: str) -> Metric:
    """The mean over examples of a score of `squad`."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        pairs = zip(predictions, labels, strict=True)
        return np.array([squad(str(text), references(gold))[key] for text, gold in pairs])

    note = "as in SQuAD: lower case, no articles and punctuation, best of the right answers"
    return mean_metric(name, scores, note)


SPAN_METRICS: tuple[Metric, ...] = (
    _metric("exact_match", "exact_match"),
    _metric("token_f1", "f1"),
)
