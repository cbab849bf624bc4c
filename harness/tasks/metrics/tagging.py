"""Tagging metrics: accuracy of the tags, and F1 of the entities that they encode.

torchmetrics has no metric of entities; they are seqeval's. Labels and predictions are the tag
indices of each sentence, one for each word. A tag of -1 counts as an error and as part of no
entity.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.tasks.metrics.classification import correct
from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    counted_metric,
    f_score,
    mean,
)

OUTSIDE = "O"


def accuracy_tags_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: words with the correct tag, words."""
    rows = _rows(labels, predictions)
    lengths = [len(true) for true, _ in rows]
    if not any(lengths):
        return np.zeros((len(rows), 2))
    true, predicted = (np.concatenate(side) for side in zip(*rows, strict=True))
    sentences = np.repeat(np.arange(len(rows)), lengths)
    hits = np.bincount(sentences, correct(true, predicted, None, names), minlength=len(rows))
    return np.stack([hits, lengths], axis=1)


def entity_f1(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """F1 of entities with the correct type and extent, over all [num_examples] sentences.

    As in conlleval (Tjong Kim Sang and De Meulder 2003), an entity may begin with I-.
    """
    from seqeval.metrics import f1_score

    return float(f1_score(*named(labels, predictions, names), zero_division=0))


def entity_f1_strict(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """`entity_f1` of entities that begin with B-, over all [num_examples] sentences."""
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    sides = named(labels, predictions, names)
    return float(f1_score(*sides, mode="strict", scheme=IOB2, zero_division=0))


def entity_f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: correct entities; predicted plus true entities."""
    from seqeval.metrics.sequence_labeling import get_entities

    return _entity_counts(get_entities, *named(labels, predictions, names))


def entity_f1_strict_counts(
    labels: Array, predictions: Array, groups: Groups, names: Names
) -> Array:
    """[num_examples, 2]: the counts of `entity_f1_counts` for entities that begin with B-."""
    from seqeval.scheme import IOB2, Tokens

    def entities(tags: list[str]) -> Iterable[Any]:
        return (entity.to_tuple() for entity in Tokens(tags, IOB2).entities)

    return _entity_counts(entities, *named(labels, predictions, names))


def _entity_counts(
    entities: Callable[[list[str]], Iterable[Any]],
    labels: list[list[str]],
    predictions: list[list[str]],
) -> Array:
    counts = np.zeros((len(labels), 2))
    for row, sides in enumerate(zip(labels, predictions, strict=True)):
        true, predicted = (set(entities(tags)) for tags in sides)
        counts[row] = len(true & predicted), len(true) + len(predicted)
    return counts


def _rows(labels: Array, predictions: Array) -> list[tuple[list[int], list[int]]]:
    """True and predicted tags of each sentence.

    Raises:
        ValueError: the numbers of tags differ.
    """
    rows = [
        ([int(tag) for tag in true], [int(tag) for tag in predicted])
        for true, predicted in zip(labels, predictions, strict=True)
    ]
    for number, (true, predicted) in enumerate(rows):
        if len(true) != len(predicted):
            raise ValueError(
                f"sentence {number} needs one tag for each word, but has {len(predicted)} tags for "
                f"{len(true)} words"
            )
    return rows


def named(labels: Array, predictions: Array, names: Names) -> tuple[list[list[str]], ...]:
    """True and predicted names of the tags of each of [num_examples] sentences.

    Raises:
        ValueError: there are no names, or numbers of tags differ.
    """
    if not names:
        raise ValueError("metrics of entities need the names of the tags")
    known = dict(enumerate(names))
    sides = zip(*_rows(labels, predictions), strict=True)
    return tuple([[known.get(tag, OUTSIDE) for tag in row] for row in side] for side in sides)


TAG_METRICS: tuple[Metric, ...] = (
    counted_metric("accuracy_tags", accuracy_tags_counts, mean, note="over all words"),
    Metric(
        "entity_f1",
        entity_f1,
        entity_f1_counts,
        f_score,
        note="seqeval, default mode, as conlleval: an entity may begin with I-",
    ),
    Metric(
        "entity_f1_strict",
        entity_f1_strict,
        entity_f1_strict_counts,
        f_score,
        note="seqeval, strict mode, scheme IOB2: an entity begins with B-",
    ),
)
