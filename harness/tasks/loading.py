"""Examples of a task: loading them, holding some of train out, and what identifies them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness import hub
from harness.tasks.task import HubData, Split, Task

if TYPE_CHECKING:
    from datasets import Dataset

HIDDEN = -1
"""Label of every example of a split whose labels are not public."""


@dataclass(frozen=True)
class Examples:
    """Texts with their labels, in a fixed order."""

    texts: list[tuple[str, ...]]
    """One text, or two for a pair."""
    labels: np.ndarray
    """[num_examples] int64 class numbers, or float64 values for regression."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples at `rows`, in that order."""
        return Examples([self.texts[row] for row in rows], self.labels[rows])

    def head(self, num_examples: int | None) -> "Examples":
        """The first `num_examples`; all for None."""
        return Examples(self.texts[:num_examples], self.labels[:num_examples])

    @property
    def hidden(self) -> bool:
        """Whether the labels are not public, so that nothing can be scored."""
        return bool(np.all(self.labels == HIDDEN))


def load_examples(task: Task, split: Split | Literal["train"]) -> Examples:
    """The examples of `task` in a reported split or in train.

    Raises:
        ValueError: the data are missing, or not what the task declares.
    """
    name, config = ("train", None) if split == "train" else (split.name, split.config)
    if isinstance(task.data, HubData):
        dataset = hub.load(task.data.path, config or task.data.config, name, task.data.revision)
        _check_class_names(task, dataset)
        columns = dataset[:]
    else:
        from harness import microworld

        columns = microworld.examples(task.data.generator, name)
    return _examples(task, name, columns)


def available_splits(task: Task) -> tuple[Split, ...]:
    """The reported splits of `task`, less the optional ones that the mirror in use lacks."""
    data = task.data
    return tuple(
        split
        for split in task.evaluation
        if not (split.optional and isinstance(data, HubData) and split.config)
        or hub.has_config(data.path, split.config)
    )


def split_holdout(
    examples: Examples, fraction: float, max_holdout: int, seed: int
) -> tuple[Examples, Examples]:
    """Train without the hold-out, in random order, and the hold-out; both fixed by `seed`.

    The hold-out has `fraction` of the examples, at most `max_holdout`, and the classes in the same
    shares as the whole, to within one example.

    Raises:
        ValueError: there are fewer than two examples.
    """
    num_examples = len(examples)
    if num_examples < 2:
        raise ValueError(f"a hold-out needs at least 2 examples, but there are {num_examples}")
    size = min(max(1, round(fraction * num_examples)), max_holdout, num_examples - 1)
    order = np.random.default_rng(seed).permutation(num_examples)
    if examples.labels.dtype.kind == "i":
        order = order[np.argsort(_class_quantiles(examples.labels[order]), kind="stable")]
    holdout, train = order[:size], order[size:]
    shuffled = np.random.default_rng([seed, 1]).permutation(train)
    return examples.take(shuffled), examples.take(np.sort(holdout))


def fingerprint(task: Task) -> str:
    """Identifies the examples without loading them; torch-free and quick.

    Raises:
        ValueError: `HARNESS_DATA` is set, but has no mirror of the data.
    """
    if isinstance(task.data, HubData):
        data = task.data
        configs = {split.config or data.config for split in available_splits(task)}
        ordered = sorted({data.config, *configs}, key=str)
        return "+".join(hub.fingerprint(data.path, config, data.revision) for config in ordered)
    from harness import microworld

    return f"microworld:{microworld.VERSION}/{task.data.generator}"


def _class_quantiles(labels: np.ndarray) -> np.ndarray:
    """[num_examples] place of each example within its class, from 0 to 1: any cut through the
    examples sorted by it has the classes in their shares."""
    quantiles = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        quantiles[members] = (np.arange(len(members)) + 0.5) / len(members)
    return quantiles


def _examples(task: Task, split: str, columns: dict[str, Any]) -> Examples:
    missing = [f for f in (*task.text_fields, task.label_field) if f not in columns]
    if missing:
        raise ValueError(
            f"{task.name} needs the columns {', '.join(task.text_fields)} and {task.label_field}, "
            f"but its split {split} has {', '.join(columns)}"
        )
    texts = list(zip(*(list(columns[field]) for field in task.text_fields), strict=True))
    kind = np.int64 if task.kind == "classification" else np.float64
    labels = np.asarray(list(columns[task.label_field]), dtype=kind)
    examples = Examples(texts, labels)
    if task.kind == "classification" and not examples.hidden:
        allowed = len(task.labels)
        if labels.min() < 0 or labels.max() >= allowed:
            raise ValueError(
                f"the labels of {task.name} must be 0 to {allowed - 1} ({', '.join(task.labels)}), "
                f"but its split {split} has {sorted(set(labels.tolist()))}"
            )
    return examples


def _check_class_names(task: Task, dataset: "Dataset") -> None:
    """A data set with its classes in another order would give wrong scores without a word."""
    feature = dataset.features.get(task.label_field)
    names = getattr(feature, "names", None)
    if names is not None and tuple(names) != task.labels:
        raise ValueError(
            f"the classes of {task.name} must be {', '.join(task.labels)} in this order, but "
            f"{task.data} has {', '.join(names)}"
        )
