"""Examples of a task, and a part of them held out."""

from dataclasses import dataclass

import numpy as np

HIDDEN = -1
"""Label of every example of a split whose labels are not public."""


@dataclass(frozen=True)
class Answers:
    """Right answers of an extraction: none of them, if the question cannot be answered."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    """First character of each in the context; NOWHERE if it is not in it."""


@dataclass(frozen=True)
class Examples:
    """Texts with their labels, in a fixed order."""

    texts: list[tuple[str, ...]]
    """One text, or two for a pair; of tagging, the words."""
    labels: np.ndarray
    """[num_examples]: int64 classes or right choices, float64 values, else objects: `Answers` of an
    extraction, tag numbers (a tuple), right texts (a tuple) of a generation."""
    choices: list[tuple[str, ...]] | None = None
    """Of a multiple choice."""
    groups: np.ndarray | None = None
    """[num_examples] text: those that are scored together."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples at `rows`, in that order."""
        return Examples(
            [self.texts[row] for row in rows],
            self.labels[rows],
            [self.choices[row] for row in rows] if self.choices else None,
            None if self.groups is None else self.groups[rows],
        )

    def head(self, num_examples: int | None) -> "Examples":
        """The first `num_examples`; all for None."""
        return self.take(np.arange(len(self))[:num_examples])

    @property
    def hidden(self) -> bool:
        """Whether the labels are not public, so that nothing can be scored; of an extraction, that
        no question has an answer."""
        if self.labels.dtype == object:
            return all(isinstance(label, Answers) and not label.texts for label in self.labels)
        return bool(np.all(self.labels == HIDDEN))


def split_holdout(
    examples: Examples, fraction: float, max_holdout_examples: int, seed: int
) -> tuple[Examples, Examples]:
    """Train without the hold-out, in random order, and the hold-out; both fixed by `seed`.

    The hold-out has `fraction` of the examples, at most `max_holdout_examples`, and the classes in
    the same shares as the whole, to within one example; or whole groups of about as many examples,
    where there are groups.

    Raises:
        ValueError: there are fewer than two examples, or groups, or no group is small enough.
    """
    units = np.arange(len(examples)) if examples.groups is None else _numbered(examples.groups)
    num_units = int(units.max(initial=-1)) + 1
    if num_units < 2:
        what = "examples" if examples.groups is None else "groups of examples"
        raise ValueError(f"a hold-out needs at least 2 {what}, but there are {num_units}")
    size = min(max(1, round(fraction * len(examples))), max_holdout_examples, len(examples) - 1)
    order = np.random.default_rng(seed).permutation(num_units)
    if examples.groups is None and examples.labels.dtype.kind == "i":
        order = order[np.argsort(_class_quantiles(examples.labels[order]), kind="stable")]
    if examples.groups is None:
        held, train = np.isin(units, order[:size]), order[size:]
    else:
        held = np.isin(units, _whole_groups(np.bincount(units), order, size, max_holdout_examples))
        train = np.flatnonzero(~held)
    shuffled = np.random.default_rng([seed, 1]).permutation(train)
    return examples.take(shuffled), examples.take(np.flatnonzero(held))


def _numbered(groups: np.ndarray) -> np.ndarray:
    """[num_examples] number of each one's group, in the order of first appearance."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _whole_groups(sizes: np.ndarray, order: np.ndarray, target: int, limit: int) -> np.ndarray:
    """The first groups in `order`, not all, that have about `target` examples and at most `limit`.

    Larger groups than `target` are passed over; where all are larger, it is the smallest one.
    """
    if sizes.min() > limit:
        raise ValueError(
            f"a hold-out of at most {limit} examples has no room for a group of examples: the "
            f"smallest has {sizes.min()}"
        )
    small = order[sizes[order] <= max(target, sizes.min())][: len(order) - 1]
    totals = np.cumsum(sizes[small])
    return small[: np.argmin(np.abs(totals[totals <= limit] - target)) + 1]


def _class_quantiles(labels: np.ndarray) -> np.ndarray:
    """[num_examples] place of each example within its class, from 0 to 1: any cut through the
    examples sorted by it has the classes in their shares."""
    quantiles = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        quantiles[members] = (np.arange(len(members)) + 0.5) / len(members)
    return quantiles
