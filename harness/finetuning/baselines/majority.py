"""Constant baselines: the most frequent label of the train set, the first of ties."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.finetuning.baselines.predictor import Predictor
from harness.tasks.examples import Examples, column
from harness.tasks.task import Task


def most_frequent_label(task: Task, train: Examples | None) -> Predictor:
    """The most frequent class or choice index; the lowest of ties."""
    assert train is not None
    return _always(float(np.bincount(train.labels).argmax()))


def mean_value(task: Task, train: Examples | None) -> Predictor:
    """The mean value."""
    assert train is not None
    return _always(float(train.labels.mean()))


def zero(task: Task, train: Examples | None) -> Predictor:
    """The same similarity for all pairs."""
    return _always(0.0)


def most_frequent_answer(task: Task, train: Examples | None) -> Predictor:
    """The most frequent answer text; "" for unanswerable questions."""
    assert train is not None
    return _always_text([answers.texts[0] if answers.texts else "" for answers in train.labels])


def most_frequent_target(task: Task, train: Examples | None) -> Predictor:
    """The most frequent target text."""
    assert train is not None
    return _always_text([text for texts in train.labels for text in texts])


def most_frequent_tag(task: Task, train: Examples | None) -> Predictor:
    """The most frequent tag for every word."""
    assert train is not None
    tag = _most_frequent([tag for tags in train.labels for tag in tags])
    return lambda examples: column([(tag,) * len(words) for words in examples.texts])


def _always(value: float) -> Predictor:
    return lambda examples: np.full(len(examples), value)


def _always_text(texts: Sequence[str]) -> Predictor:
    text = _most_frequent(texts)
    return lambda examples: column([text] * len(examples))


def _most_frequent(values: Sequence[Any]) -> Any:
    return Counter(values).most_common(1)[0][0]
