"""Examples of a task: loading them, holding some of train out, and what identifies them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness import hub
from harness.tasks.preparing import CLASSES_KEPT, NOWHERE, PREPARATIONS
from harness.tasks.task import FileData, HubData, MicroworldData, Split, Task

if TYPE_CHECKING:
    from datasets import Dataset

HIDDEN = -1
"""Label of every example of a split whose labels are not public."""

Columns = Mapping[str, Sequence[Any]]
"""Columns of a data set, of equal length."""


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


def load_examples(task: Task, split: Split | Literal["train"]) -> Examples:
    """The examples of `task` in a reported split or in train.

    Raises:
        ValueError: the data are missing, or not what the task declares.
    """
    if split != "train":
        return _loaded(task, split)
    assert task.train, f"{task.name} has nothing to train on"
    examples = _loaded(task, Split(name=task.train))
    if examples.hidden:
        raise ValueError(
            f"{task.name} needs labels to train on, but its split {task.train} has hidden ones "
            f"(-1, null or no answer) in {task.label_field!r}"
        )
    return _with_places(examples)


def _loaded(task: Task, split: Split) -> Examples:
    examples = _examples(task, split, _prepared(task, _columns(task, split)))
    if not len(examples):
        such = " and ".join(f"{field} {value}" for field, value in split.where.items())
        raise ValueError(
            f"{task.name} needs examples, but its split {split.name} has none"
            f"{f' with {such}' if such else ''}"
        )
    if task.kind == "multiple_choice":
        _check_choices(task, split, examples)
    if task.kind == "tagging":
        _check_tags(task, split, examples)
    return examples


def _with_places(examples: Examples) -> Examples:
    """Without the questions whose answers the context lacks: no span can be learnt from them."""
    lost = [
        isinstance(label, Answers) and set(label.starts) == {NOWHERE} for label in examples.labels
    ]
    return examples.take(np.flatnonzero(~np.array(lost))) if any(lost) else examples


def available_splits(task: Task, submission: bool = False) -> tuple[Split, ...]:
    """The reported splits of `task` (with those for a submission, if asked for), less the optional
    ones that the mirror in use lacks."""
    splits = (*task.evaluation, *(task.test if submission else ()))
    return tuple(split for split in splits if not split.optional or _is_there(task, split))


def wanted_fields(task: Task, split: Split) -> list[str]:
    """Columns that the examples of a split are made of, after the task's preparation."""
    texts = [name for text in task.text_fields for name in _names(text)]
    optional = [field for field in (task.choices_field, task.group_field) if field]
    return list(dict.fromkeys([*texts, task.label_field, *optional, *split.where]))


def split_holdout(
    examples: Examples, fraction: float, max_holdout: int, seed: int
) -> tuple[Examples, Examples]:
    """Train without the hold-out, in random order, and the hold-out; both fixed by `seed`.

    The hold-out has `fraction` of the examples, at most `max_holdout`, and the classes in the same
    shares as the whole, to within one example; or whole groups of about as many examples, where
    there are groups.

    Raises:
        ValueError: there are fewer than two examples, or groups, or no group is small enough.
    """
    units = np.arange(len(examples)) if examples.groups is None else _numbered(examples.groups)
    num_units = int(units.max(initial=-1)) + 1
    if num_units < 2:
        what = "examples" if examples.groups is None else "groups of examples"
        raise ValueError(f"a hold-out needs at least 2 {what}, but there are {num_units}")
    size = min(max(1, round(fraction * len(examples))), max_holdout, len(examples) - 1)
    order = np.random.default_rng(seed).permutation(num_units)
    if examples.groups is None and examples.labels.dtype.kind == "i":
        order = order[np.argsort(_class_quantiles(examples.labels[order]), kind="stable")]
    if examples.groups is None:
        held, train = np.isin(units, order[:size]), order[size:]
    else:
        held = np.isin(units, _whole_groups(np.bincount(units), order, size, max_holdout))
        train = np.flatnonzero(~held)
    shuffled = np.random.default_rng([seed, 1]).permutation(train)
    return examples.take(shuffled), examples.take(np.flatnonzero(held))


def fingerprint(task: Task) -> str:
    """Identifies the examples without loading them; torch-free and quick.

    Raises:
        ValueError: `HARNESS_DATA` is set, but has no mirror of the data, or a file is missing.
    """
    data = task.data
    if isinstance(data, MicroworldData):
        from harness import microworld

        return f"microworld:{microworld.version(data.generator)}/{data.generator}"
    if isinstance(data, FileData):
        return hub.digest([_file(task, name) for name in sorted(data.files)])
    places = {(data.path, data.config, data.revision)} | {
        place_of(data, split) for split in available_splits(task)
    }
    ordered = sorted(places, key=str)
    return "+".join(hub.fingerprint(*place) for place in ordered)


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


def _is_there(task: Task, split: Split) -> bool:
    if not isinstance(task.data, HubData):
        return True
    path, config, _ = place_of(task.data, split)
    return hub.has_config(path, config, split.of or split.name)


def place_of(data: HubData, split: Split) -> tuple[str, str | None, str | None]:
    """Repository, config and commit that a split is read from."""
    if split.path:
        return split.path, split.config, split.revision
    return data.path, split.config or data.config, data.revision


def _columns(task: Task, split: Split) -> Columns:
    data, name = task.data, split.of or split.name
    if isinstance(data, HubData):
        path, config, revision = place_of(data, split)
        dataset = hub.load(path, config, name, revision)
        _check_class_names(task, dataset)
        return dataset[:]
    if isinstance(data, FileData):
        return hub.load_file(data.source, _file(task, name))[:]
    from harness import microworld

    return microworld.examples(data.generator, name)


def _file(task: Task, split: str) -> Path:
    assert isinstance(task.data, FileData)
    if split not in task.data.files:
        raise ValueError(
            f"{task.name} needs a file for its split {split}, but data.files has "
            f"{', '.join(task.data.files)}"
        )
    path = Path(task.data.files[split]).expanduser()
    if not path.is_file():
        raise ValueError(
            f"{task.name} needs the file {path} for its split {split}; it is not there"
        )
    return path


def _prepared(task: Task, columns: Columns) -> Columns:
    return PREPARATIONS[task.prepare](columns) if task.prepare else columns


def _examples(task: Task, split: Split, columns: Columns) -> Examples:
    wanted = wanted_fields(task, split)
    if missing := [field for field in wanted if field not in columns]:
        raise ValueError(
            f"{task.name} needs the columns {', '.join(wanted)}, but its split "
            f"{split.name} has no {', '.join(missing)}; it has {', '.join(columns)}"
        )
    num_examples = len(columns[task.label_field])
    rows = np.array([_fits(columns, row, split.where) for row in range(num_examples)], dtype=bool)
    groups, choices = None, None
    if task.group_field:
        groups = np.array([str(group) for group in columns[task.group_field]], dtype=object)
    if task.choices_field:
        choices = [tuple(options) for options in columns[task.choices_field]]
    labels = _labels(task, split, columns[task.label_field])
    _check_texts(task, split, columns)
    return Examples(_texts(task, columns), labels, choices, groups).take(np.flatnonzero(rows))


def _names(text: str) -> list[str]:
    """Fields of a pattern such as `{word}: {sentence}`; a text without braces is a field."""
    if "{" not in text:
        return [text]
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _fits(columns: Columns, row: int, where: Mapping[str, str]) -> bool:
    return all(str(columns[field][row]) == value for field, value in where.items())


def _check_texts(task: Task, split: Split, columns: Columns) -> None:
    """A file's empty cell is null, and a column of digits is numbers: neither can be read."""
    for field in task.text_fields if task.kind != "tagging" else ():
        for row, text in enumerate(columns[field] if "{" not in field else (), start=1):
            if not isinstance(text, str):
                raise ValueError(
                    f"{task.name} needs text in {field!r}, but row {row} of its split "
                    f"{split.name} has {text!r}"
                )


def _texts(task: Task, columns: Columns) -> list[tuple[str, ...]]:
    if task.kind == "tagging":
        return [tuple(words) for words in columns[task.text_fields[0]]]
    return list(zip(*(_text_column(text, columns) for text in task.text_fields), strict=True))


def _text_column(text: str, columns: Columns) -> list[str]:
    if "{" not in text:
        return list(columns[text])
    names = _names(text)
    rows = zip(*(columns[name] for name in names), strict=True)
    return [text.format_map(dict(zip(names, row, strict=True))) for row in rows]


def _labels(task: Task, split: Split, column: Sequence[Any]) -> np.ndarray:
    """The column of labels as `Examples.labels`."""
    if task.kind in ("classification", "multiple_choice"):
        return _checked(task, split, np.array([_number(task, v) for v in column], dtype=np.int64))
    if task.kind in ("regression", "similarity"):
        return np.array([_value(task, split, value) for value in column], dtype=np.float64)
    labels = np.empty(len(column), dtype=object)
    for row, value in enumerate(column):
        labels[row] = _label(task, split, value)
    return labels


def _value(task: Task, split: Split, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"{task.name} needs finite numbers in {task.label_field!r}, but its split "
            f"{split.name} has {value!r}"
        )
    return number


def _label(task: Task, split: Split, value: Any) -> Any:
    if value is None:
        raise ValueError(
            f"{task.name} needs a label in every row of {task.label_field!r}, but its split "
            f"{split.name} has null"
        )
    if task.kind == "tagging":
        return tuple(_number(task, tag) for tag in value)
    if task.kind == "extraction":
        return Answers(tuple(value["text"]), tuple(value["answer_start"]))
    return (value,) if isinstance(value, str) else tuple(value)


def _number(task: Task, value: Any) -> int:
    """The number of a class or tag that is given by name or number."""
    if isinstance(task.data, FileData) and isinstance(value, int):  # a file has no types: stars 1-5
        spelt = str(value).lower() if isinstance(value, bool) else str(value)
        value = next((label for label in task.labels if spelt in (label, label.lower())), value)
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"the labels of {task.name} must be whole, but there is {value}")
    if not isinstance(value, str):
        return HIDDEN if value is None else int(value)
    if value not in task.labels:
        raise ValueError(
            f"the labels of {task.name} must be {', '.join(task.labels) or 'numbers'}, but there "
            f"is {value!r}"
        )
    return task.labels.index(value)


def _checked(task: Task, split: Split, labels: np.ndarray) -> np.ndarray:
    allowed = len(task.labels)
    visible = task.labels and not np.all(labels == HIDDEN)
    if visible and (labels.min() < 0 or labels.max() >= allowed):
        raise ValueError(
            f"the labels of {task.name} must be 0 to {allowed - 1} ({', '.join(task.labels)}), "
            f"but its split {split.name} has {sorted(set(labels.tolist()))}"
        )
    return labels


def _check_choices(task: Task, split: Split, examples: Examples) -> None:
    """Every right choice is one of its example's; all of a split may be hidden."""
    for label, choices in zip(examples.labels.tolist(), examples.choices or (), strict=True):
        if not 0 <= label < len(choices) and not examples.hidden:
            raise ValueError(
                f"{task.name} needs the place of a choice, from 0, in {task.label_field!r}, but "
                f"its split {split.name} has {label} for {len(choices)} choices"
            )


def _check_tags(task: Task, split: Split, examples: Examples) -> None:
    """Every word has one of the tags."""
    for words, tags in zip(examples.texts, examples.labels, strict=True):
        if len(words) != len(tags):
            raise ValueError(
                f"{task.name} needs a tag a word, but its split {split.name} has {len(tags)} tags "
                f"for the {len(words)} words {' '.join(words):.40}"
            )
        if not set(tags) <= set(range(len(task.labels))):
            raise ValueError(
                f"the tags of {task.name} must be 0 to {len(task.labels) - 1}, but its split "
                f"{split.name} has {min(tags)} to {max(tags)} in one example"
            )


def _check_class_names(task: Task, dataset: "Dataset") -> None:
    """A data set with its classes in another order would give wrong scores without a word."""
    feature = dataset.features.get(task.label_field)
    feature = getattr(feature, "feature", feature)  # of a list: tags
    names = getattr(feature, "names", None)
    kept = CLASSES_KEPT.get(task.prepare or "")
    if names is not None and task.labels and tuple(names[:kept]) != task.labels[:kept]:
        first = "begin with" if kept else "be"
        raise ValueError(
            f"the classes of {task.name} must {first} {', '.join(task.labels[:kept])} in this "
            f"order, but {task.data} has {', '.join(names)}"
        )
