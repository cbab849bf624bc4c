"""Metrics of short answers: exact match and token F1 of SQuAD (Rajpurkar et al. 2016, 2018).

No library of ours has them; the steps follow the official scripts, evaluate-v1.1 and evaluate-v2.0.
"""

import re
from collections import Counter
from collections.abc import Callable
from string import punctuation
from typing import Any

import numpy as np

from harness.tasks.metrics.metric import Array, Groups, Metric, Names, counted, mean

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", punctuation)


def normalise(text: str) -> str:
    """Lower case, without punctuation and articles, single spaces."""
    # In this order, as the official script: punctuation first, so that `the-one` keeps its `the`.
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact(answer: str, gold: str) -> float:
    """1 if both are the same after `normalise`."""
    return float(normalise(answer) == normalise(gold))


def overlap(answer: str, gold: str) -> float:
    """F1 of the words; if one text has none, 1 if neither has (evaluate-v2.0)."""
    ours, theirs = normalise(answer).split(), normalise(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * same / (len(ours) + len(theirs))


def golds(label: Any) -> tuple[str, ...]:
    """Right answers of an `Answers` or of a tuple of texts; the empty text where there are none."""
    texts = getattr(label, "texts", label)
    return tuple(text for text in texts if normalise(text)) or ("",)


def _best(compare: Callable[[str, str], float], labels: Array, predictions: Array) -> Array:
    """[num_examples]: the highest over the right answers."""
    pairs = zip(predictions, labels, strict=True)
    return np.array([max(compare(str(p), gold) for gold in golds(label)) for p, label in pairs])


def exact_match(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Share of answers that equal a right one."""
    return float(_best(exact, labels, predictions).mean())


def exact_match_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: equal, 1."""
    return counted(_best(exact, labels, predictions))


def token_f1(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Mean over examples of the best F1 of the words."""
    return float(_best(overlap, labels, predictions).mean())


def token_f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: F1, 1."""
    return counted(_best(overlap, labels, predictions))


NOTE = "as in SQuAD: lower case, no articles and punctuation, best of the right answers"

SPAN_METRICS: tuple[Metric, ...] = (
    Metric("exact_match", exact_match, exact_match_counts, mean, note=NOTE),
    Metric("token_f1", token_f1, token_f1_counts, mean, note=NOTE),
)
