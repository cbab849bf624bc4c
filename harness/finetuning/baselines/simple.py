"""Baselines without features: constants of the train set, the first of ties, and copied sources."""

from collections.abc import Sequence
from statistics import mode

import numpy as np

from harness.data.corpora.sentence_splitter import split_sentences
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.ranking import collection, places
from harness.tasks.examples import Examples, column
from harness.tasks.task import Task

LEAD = 3
"""Sentences of the lead."""


def most_frequent_label(task: Task, train: Examples) -> Predictor:
    """The most frequent class or choice index; the lowest of ties."""
    return _always(float(np.bincount(train.labels).argmax()))


def mean_value(task: Task, train: Examples) -> Predictor:
    """The mean value."""
    return _always(float(train.labels.mean()))


def zero(task: Task, train: Examples | None) -> Predictor:
    """The same similarity for all pairs."""
    return _always(0.0)


def no_order(task: Task, train: Examples | None) -> Predictor:
    """The same similarity for all documents."""

    def predict(examples: Examples) -> np.ndarray:
        found = collection(examples)
        size = len(found.documents)
        return places(lambda rows: np.zeros((len(found.queries[rows]), size)), found)

    return predict


def most_frequent_answer(task: Task, train: Examples) -> Predictor:
    """The most frequent answer text; "" for unanswerable questions."""
    return _always_text([answers.texts[0] if answers.texts else "" for answers in train.labels])


def most_frequent_target(task: Task, train: Examples) -> Predictor:
    """The most frequent target text."""
    return _always_text([text for texts in train.labels for text in texts])


def most_frequent_tag(task: Task, train: Examples) -> Predictor:
    """The most frequent tag for every word."""
    tag = mode(tag for tags in train.labels for tag in tags)
    return lambda examples: column([(tag,) * len(words) for words in examples.texts])


def no_mentions(task: Task, train: Examples | None) -> Predictor:
    """No mention in any document."""
    return lambda examples: column([()] * len(examples))


def first_sentences(task: Task, train: Examples | None) -> Predictor:
    """Lead-3: the first three sentences, one per line, a strong baseline for news summaries (See et
    al. 2017, section 5)."""
    return lambda examples: column(
        ["\n".join(_sentences(texts[0])[:LEAD]) for texts in examples.texts]
    )


def source(task: Task, train: Examples | None) -> Predictor:
    """The unchanged source: a translation with correct names and numbers."""
    return lambda examples: column([texts[0] for texts in examples.texts])


def _always(value: float) -> Predictor:
    return lambda examples: np.full(len(examples), value)


def _always_text(texts: Sequence[str]) -> Predictor:
    text = mode(texts)
    return lambda examples: column([text] * len(examples))


def _sentences(text: str) -> list[str]:
    """Sentences of a text; line ends count as sentence ends, needed for uncased texts."""
    return [sentence for line in text.splitlines() for sentence in split_sentences(line)]
