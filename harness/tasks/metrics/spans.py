"""Metrics of short answers: exact match and token F1 of SQuAD (Rajpurkar et al. 2016, 2018).

They follow the official scripts, evaluate-v1.1 and evaluate-v2.0.
"""

import re
from collections import Counter
from collections.abc import Callable
from string import punctuation
from typing import Any

import numpy as np

from harness.tasks.metrics.metric import Array, Groups, Metric, Names, mean_metric

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", punctuation)


def normalise(text: str) -> str:
    """`text` in lower case, without punctuation and articles, with single spaces."""
    # Punctuation before articles, as in the official script: `the-one` keeps its `the`.
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact(answer: str, reference: str) -> float:
    """1 if both texts are equal after `normalise`, else 0."""
    return float(normalise(answer) == normalise(reference))


def overlap(answer: str, reference: str) -> float:
    """F1 of the words; 1 if both texts have none (evaluate-v2.0)."""
    words, correct = Counter(normalise(answer).split()), Counter(normalise(reference).split())
    total = words.total() + correct.total()
    return 2 * (words & correct).total() / total if total else 1.0


def references(label: Any) -> tuple[str, ...]:
    """Correct answers of an `Answers` or a tuple of texts; the empty text if there are none."""
    texts = getattr(label, "texts", label)
    return tuple(text for text in texts if normalise(text)) or ("",)


def _best(name: str, compare: Callable[[str, str], float]) -> Metric:
    """The mean over examples of the best score over the correct answers."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        pairs = zip(predictions, labels, strict=True)
        return np.array(
            [max(compare(str(p), one) for one in references(gold)) for p, gold in pairs]
        )

    note = "as in SQuAD: lower case, no articles and punctuation, best of the right answers"
    return mean_metric(name, scores, note)


SPAN_METRICS: tuple[Metric, ...] = (_best("exact_match", exact), _best("token_f1", overlap))
