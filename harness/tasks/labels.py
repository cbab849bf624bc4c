"""Labels: read from a column, and checked against the declaration of the task."""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.tasks.examples import HIDDEN, Answers, Examples, Mention
from harness.tasks.preprocessing import CLASSES_KEPT
from harness.tasks.task import COMPARED, FileData, PluginData, Split, Task

if TYPE_CHECKING:
    from datasets import Dataset


def read_labels(task: Task, split: Split, column: Sequence[Any], source: str = "") -> np.ndarray:
    """[num_examples] labels of a column, in the format of `Examples.labels`.

    Args:
        source: file of the user with the column, in which rows are counted; empty: none.

    Raises:
        ValueError: a label is missing, or not what the task declares.
    """
    if task.kind in ("classification", "multiple_choice"):
        classes = list(_each(lambda value: class_index(task, value), column, source))
        return _checked(task, split, np.array(classes, dtype=np.int64), source)
    if task.kind == "regression" or task.kind in COMPARED:
        values = _each(lambda value: _value(task, split, value), column, source)
        return np.array(list(values), dtype=np.float64)
    labels = np.empty(len(column), dtype=object)
    for row, label in enumerate(_each(lambda value: _label(task, split, value), column, source)):
        labels[row] = label
    return labels


def _each(read: Callable[[Any], Any], column: Sequence[Any], source: str) -> Iterator[Any]:
    """What `read` makes of each value; its errors begin with the row of `source`."""
    for row, value in enumerate(column, start=1):
        try:
            yield read(value)
        except ValueError as error:
            raise ValueError(f"{_place(row, source)}{error}") from error


def _place(row: int, source: str) -> str:
    return f"row {row} of {source}: " if source else ""


def class_name(value: Any) -> str:
    """The name of the class that a cell contains: `1` for 1, 1.0 and "1", `true` for true."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


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
        return tuple(class_index(task, tag) for tag in value)
    if task.kind == "coreference":
        return _mentions(task, split, value)
    if task.kind == "extraction":
        return Answers(tuple(value["text"]), tuple(value["answer_start"]))
    return (value,) if isinstance(value, str) else tuple(value)


def _mentions(task: Task, split: Split, value: Any) -> tuple[Mention, ...]:
    """Mentions in order, with entities numbered from 0 in the order of their numbers."""
    try:
        found = [tuple(map(operator.index, mention)) for mention in value]
        entities = sorted({entity for entity, _, _ in found})
        if min(map(min, found), default=0) < 0:
            raise ValueError
        return tuple(sorted(Mention(entities.index(one[0]), one[1], one[2]) for one in found))
    except (TypeError, ValueError):
        raise ValueError(
            f"{task.name} needs mentions [entity, first word, last word], whole numbers from 0, in "
            f"{task.label_field!r}, but its split {split.name} has {value!s:.60}"
        ) from None


def class_index(task: Task, value: Any) -> int:
    """The index of a class, tag or choice, given by name or index; HIDDEN for null.

    Raises:
        ValueError: it is neither.
    """
    is_own = isinstance(task.data, FileData | PluginData)
    if is_own and isinstance(value, int | float):  # stars 1 to 5
        text = class_name(value)
        value = next((label for label in task.labels if text in (label, label.lower())), value)
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"the labels of {task.name} must be whole numbers, but one is {value}")
    if not isinstance(value, str):
        return HIDDEN if value is None else _whole(task, value)
    if value not in task.labels:
        raise ValueError(
            f"the labels of {task.name} must be {', '.join(task.labels) or 'numbers'}, but one is "
            f"{value!r}"
        )
    return task.labels.index(value)


def _whole(task: Task, value: Any) -> int:
    try:
        return int(value)
    except TypeError:
        raise ValueError(
            f"the labels of {task.name} must be names or numbers, but one is {value!s:.60}"
        ) from None


def _checked(task: Task, split: Split, labels: np.ndarray, source: str) -> np.ndarray:
    allowed = len(task.labels)
    odd = np.flatnonzero((labels < 0) | (labels >= allowed))
    if task.labels and len(odd) and not np.all(labels == HIDDEN):
        found = sorted(set(labels.tolist()))
        raise ValueError(
            f"{_place(int(odd[0]) + 1, source)}the labels of {task.name} must be 0 to "
            f"{allowed - 1} ({', '.join(task.labels)}), but its split {split.name} has {found}"
        )
    return labels


def check_choices(task: Task, split: Split, examples: Examples) -> None:
    """Checks that the label of each example is the index of one of its choices, or all are hidden.

    Raises:
        ValueError: a label is out of range.
    """
    for label, choices in zip(examples.labels.tolist(), examples.choices or (), strict=True):
        if not 0 <= label < len(choices) and not examples.hidden:
            raise ValueError(
                f"{task.name} needs the index of a choice, from 0, in {task.label_field!r}, but "
                f"its split {split.name} has {label} for {len(choices)} choices"
            )


def check_tags(task: Task, split: Split, examples: Examples) -> None:
    """Checks that every word has one of the declared tags.

    Raises:
        ValueError: there are too few or too many tags, or one is out of range.
    """
    for words, tags in zip(examples.texts, examples.labels, strict=True):
        if len(words) != len(tags):
            raise ValueError(
                f"{task.name} needs one tag for each word, but its split {split.name} has "
                f"{len(tags)} tags for the {len(words)} words {' '.join(words):.40}"
            )
        if not set(tags) <= set(range(len(task.labels))):
            raise ValueError(
                f"the tags of {task.name} must be 0 to {len(task.labels) - 1}, but its split "
                f"{split.name} has {min(tags)} to {max(tags)} in one example"
            )


def check_mentions(task: Task, split: Split, examples: Examples) -> None:
    """Checks that every document has a sentence, every mention consists of words of one sentence,
    and no two of the same words.

    Raises:
        ValueError: one does not, or two do.
    """
    if not all(examples.texts):
        raise ValueError(
            f"{task.name} needs sentences in every document, but its split {split.name} has one "
            f"without any in {task.text_fields[0]!r}"
        )
    for sentences, mentions in zip(examples.texts, examples.labels, strict=True):
        ends = np.cumsum([len(sentence.split(" ")) for sentence in sentences])
        spans = [(first, last) for _, first, last in mentions]
        sentence_of = np.searchsorted(ends, spans, side="right").reshape(-1, 2)
        inside = (sentence_of[:, 0] == sentence_of[:, 1]) & (sentence_of[:, 1] < len(ends))
        for mention, is_inside in zip(mentions, inside, strict=True):
            if not (is_inside and mention.first <= mention.last):
                raise ValueError(
                    f"{task.name} needs mentions [entity, first word, last word] within one "
                    f"sentence, but its split {split.name} has {list(mention)} in a document "
                    f"of {int(ends[-1])} words"
                )
        if len(set(spans)) < len(spans):
            raise ValueError(
                f"{task.name} needs mentions of different words, but its split {split.name} has "
                f"two of the same words among {[list(m) for m in mentions]!s:.60}"
            )


def check_class_names(task: Task, dataset: "Dataset") -> None:
    """Checks that the data set has the classes of the task in the same order.

    Raises:
        ValueError: it has others, which would silently give wrong scores.
    """
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


def check_judgements(task: Task, split: Split, examples: Examples) -> None:
    """Checks that each group has one query, for which no document is judged twice: it would be two
    in one place, which raises nDCG above 1.

    Raises:
        ValueError: a group has two queries, or a document is.
    """
    assert examples.groups is not None
    seen = set[tuple[str, str]]()
    queries: dict[str, str] = {}
    for group, (query, document) in zip(examples.groups.tolist(), examples.texts, strict=True):
        if queries.setdefault(group, query) != query:
            raise ValueError(
                f"{task.name} needs one query for each value of "
                f"{split.group_field or task.group_field!r}, but its split {split.name} has "
                f"{queries[group][:60]!r} and {query[:60]!r} for {group!r}"
            )
        if (group, document) in seen:
            raise ValueError(
                f"{task.name} needs one row for each document of a query, but its split "
                f"{split.name} has two of {group!r} with {document[:60]!r}"
            )
        seen.add((group, document))
