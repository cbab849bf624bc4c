"""Examples of a task, and the split into train and hold-out."""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

HIDDEN = -1
"""Label of all examples of a split without public labels."""


@dataclass(frozen=True)
class Answers:
    """The correct answers of an extraction example; empty if it is unanswerable."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    """First character of each answer in the context; NOWHERE if it does not occur there."""


class Mention(NamedTuple):
    """A mention of an entity in a document."""

    entity: int
    """Only whether two mentions have the same number matters."""
    first: int
    last: int
    """First and last word in the document, from 0."""


def clusters(mentions: Iterable[tuple[Hashable, int, int]]) -> list[list[tuple[int, int]]]:
    """First and last word of the mentions of each entity, in order and without its number.

    Args:
        mentions: of one document, with any names of entities.
    """
    found: dict[Hashable, set[tuple[int, int]]] = {}
    for entity, first, last in mentions:
        found.setdefault(entity, set()).add((int(first), int(last)))
    return sorted(map(sorted, found.values()))


@dataclass(frozen=True)
class Examples:
    """Texts and labels in a fixed order."""

    texts: list[tuple[str, ...]]
    """One text, or two for a pair; for tagging, the words; for coreference, the sentences."""
    labels: np.ndarray
    """[num_examples]: int64 classes or correct choices, float64 values, or objects: `Answers`, a
    tuple of tag indices, a tuple of `Mention`, or a tuple of reference texts."""
    choices: list[tuple[str, ...]] | None = None
    """The choices of each example of a multiple-choice task."""
    groups: np.ndarray | None = None
    """[num_examples] text: the group of each example, for metrics of groups."""
    spans: list[tuple[tuple[int, int], ...]] | None = None
    """Of each text of an example, the first character of its marked word and the one after its
    last (`Task.marked_words`)."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples at `rows`, [num_rows] numbers, in that order."""
        return Examples(
            [self.texts[row] for row in rows],
            self.labels[rows],
            [self.choices[row] for row in rows] if self.choices else None,
            None if self.groups is None else self.groups[rows],
            [self.spans[row] for row in rows] if self.spans else None,
        )

    def head(self, num_examples: int | None) -> "Examples":
        """The first `num_examples`, or all for None."""
        return self.take(np.arange(len(self))[:num_examples])

    def sample(self, most: int) -> "Examples":
        """The first examples, at most `most`; with groups, as many whole ones as fit, at least
        one."""
        if self.groups is None:
            return self.head(most)
        numbers = _numbered(self.groups)
        fitting = int((np.cumsum(np.bincount(numbers)) <= most).sum())
        return self.take(np.flatnonzero(numbers < max(1, fitting)))

    @property
    def hidden(self) -> bool:
        """Whether the labels are not public; for extraction, whether no question has an answer."""
        if self.labels.dtype == object:
            return all(isinstance(label, Answers) and not label.texts for label in self.labels)
        return bool(np.all(self.labels == HIDDEN))


def mixed(parts: Sequence[tuple[Examples, Sequence[str]]]) -> Examples:
    """All examples of several tasks, one after the other, with classes numbered as in the first.

    Args:
        parts: examples and the names of their classes, the same in any order; none for values.
    """
    names = list(parts[0][1])
    labels = [
        np.array([names.index(name) for name in own], dtype=np.int64)[one.labels]
        if names
        else one.labels
        for one, own in parts
    ]
    return Examples([texts for one, _ in parts for texts in one.texts], np.concatenate(labels))


def split_holdout(
    examples: Examples,
    fraction: float,
    max_holdout_examples: int,
    seed: int,
    groups: np.ndarray | None = None,
) -> tuple[Examples, Examples]:
    """The train set without the hold-out, shuffled, and the hold-out.

    The hold-out has `fraction` of the examples, at most `max_holdout_examples`. It is stratified by
    class, to within one example, or consists of whole groups if there are any.

    Args:
        fraction: share of the examples, 0 to 1.
        groups: [num_examples] group of each example; null: those of the examples, if any.

    Raises:
        ValueError: fewer than two examples or groups, or all groups are too large.
    """
    groups = examples.groups if groups is None else groups
    units = np.arange(len(examples)) if groups is None else _numbered(groups)
    num_units = int(units.max(initial=-1)) + 1
    if num_units < 2:
        what = "examples" if groups is None else "groups of examples"
        raise ValueError(f"a hold-out needs at least 2 {what}, but there are {num_units}")
    size = min(max(1, round(fraction * len(examples))), max_holdout_examples, len(examples) - 1)
    order = np.random.default_rng(seed).permutation(num_units)
    if groups is None and examples.labels.dtype.kind == "i":
        order = order[np.argsort(_class_quantiles(examples.labels[order]), kind="stable")]
    if groups is None:
        held, train = np.isin(units, order[:size]), order[size:]
    else:
        held = np.isin(units, _whole_groups(np.bincount(units), order, size, max_holdout_examples))
        train = np.flatnonzero(~held)
    shuffled = np.random.default_rng([seed, 1]).permutation(train)
    return examples.take(shuffled), examples.take(np.flatnonzero(held))


def content_holdout(examples: Examples, fraction: float) -> np.ndarray:
    """[num_examples] whether each example belongs to the dev set that is drawn from a file.

    Examples with the same group, or else with the same texts up to case, space and order, are on
    one side. Of each class, the inputs with the smallest digests are held out, so that the draw
    depends on the content of the file and not on the order of its rows.

    Args:
        fraction: share of the inputs, 0 to 1; every class keeps at least one for training.
    """
    units = [_unit(examples, row) for row in range(len(examples))]
    by_class = examples.labels.dtype.kind == "i"
    classes: dict[str, int] = {}
    for unit, label in zip(units, examples.labels, strict=True):
        label = int(label) if by_class else 0
        classes[unit] = min(label, classes.get(unit, label))
    held: set[str] = set()
    for wanted in sorted(set(classes.values())):
        members = sorted(
            (unit for unit, label in classes.items() if label == wanted),
            key=lambda unit: hashlib.sha256(unit.encode()).digest(),
        )
        held.update(members[: min(round(fraction * len(members)), len(members) - 1)])
    return np.array([unit in held for unit in units], dtype=bool)


def _unit(examples: Examples, row: int) -> str:
    """What must not be divided by a hold-out: the group of an example, or its texts."""
    if examples.groups is not None:
        return str(examples.groups[row])
    return "\0".join(sorted(" ".join(text.lower().split()) for text in examples.texts[row]))


def _numbered(groups: np.ndarray) -> np.ndarray:
    """[num_examples] index of the group of each example, in order of first appearance."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _whole_groups(sizes: np.ndarray, order: np.ndarray, target: int, limit: int) -> np.ndarray:
    """The first groups in `order`, not all, with about `target` and at most `limit` examples.

    Groups larger than `target` are skipped; if all are, the result is the smallest one.
    """
    if sizes.min() > limit:
        raise ValueError(
            f"a hold-out of at most {limit} examples must contain whole groups, but the smallest "
            f"group has {sizes.min()}"
        )
    small = order[sizes[order] <= max(target, sizes.min())][: len(order) - 1]
    totals = np.cumsum(sizes[small])
    return small[: np.argmin(np.abs(totals[totals <= limit] - target)) + 1]


def _class_quantiles(labels: np.ndarray) -> np.ndarray:
    """[num_examples] relative rank of each example within its class, 0 to 1.

    Any prefix of the examples sorted by it is stratified.
    """
    quantiles = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        quantiles[members] = (np.arange(len(members)) + 0.5) / len(members)
    return quantiles


def column(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """[num_examples] array; lists become entries of dtype object."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    entries = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        entries[row] = value
    return entries
