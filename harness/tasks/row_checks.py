"""Checks of the rows of the user's own tasks, each with the file and the number of the row.

Shipped tasks fit their data, and are not checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from harness.tasks import TASKS
from harness.tasks.annotated_words import Columns
from harness.tasks.examples import HIDDEN
from harness.tasks.labels import class_index
from harness.tasks.preprocessing import NOWHERE
from harness.tasks.task import FileData, Kind, PluginData, Split, Task

MAX_SHOWN = 60
"""Length at which a given value is cut."""


class Problem(NamedTuple):
    """What is wrong with a row."""

    row: int
    """From 1, without the head."""
    needs: str
    given: str


Texts = Sequence[Sequence[str]]
"""[num_rows] the texts of each row."""


def check_rows(task: Task, split: Split, columns: Columns, texts: Texts, source: str) -> None:
    """Checks that each row has what its kind of task needs.

    Args:
        source: the file, or the split, for the message.

    Raises:
        ValueError: a row has not.
    """
    if task.name in TASKS and not is_own(task):
        return
    checks = [_groups, _cells, *([CHECKS[task.kind]] if task.kind in CHECKS else ())]
    for check in checks:
        for row, needs, given in check(task, split, columns, texts):
            raise ValueError(f"{task.name} needs {needs}, but row {row} of {source} has {given}")


def is_own(task: Task) -> bool:
    """Whether the data are the user's own."""
    return isinstance(task.data, FileData | PluginData)


def _groups(task: Task, split: Split, columns: Columns, _: Texts) -> Iterator[Problem]:
    field = split.group_field or task.group_field
    for row, value in enumerate(columns[field] if field else (), start=1):
        if value is None or value != value:  # NaN
            yield Problem(row, f"a group in every row of {field!r}", "none")


def _cells(task: Task, _: Split, columns: Columns, __: Texts) -> Iterator[Problem]:
    """Rows that became one, as a quotation mark begins a cell and another ends a later one; also
    in a column that is not used, with which the rows would be lost."""
    if not (isinstance(task.data, FileData) and task.data.source == "tsv"):
        return
    for column in columns.values():
        for row, text in enumerate(column, start=1):
            if isinstance(text, str) and "\t" in text and "\n" in text:
                needs = 'cells whose quotation marks are doubled, as in """Yes"" he says"'
                yield Problem(row, needs, f"a cell with tabs and line ends: {_shown(text)}")


def _choices(task: Task, split: Split, columns: Columns, _: Texts) -> Iterator[Problem]:
    field, labels = task.choices_field, columns[task.label_field]
    indices = [_index(task, value) for value in labels]
    # With a condition, rows of another split may be the hidden ones: `check_choices` sees to them.
    may_hide = bool(split.where) or all(index == HIDDEN for index in indices)
    rows = zip(columns[field or ""], indices, labels, strict=True)
    for row, (choices, index, label) in enumerate(rows, start=1):
        if not (_is_list(choices, str) and len(choices) > 1):
            yield Problem(row, f"a list of two or more texts in {field!r}", _shown(choices))
        elif index not in range(len(choices)) and not (may_hide and index == HIDDEN):
            given = f"{_shown(label)} for {len(choices)} choices"
            yield Problem(row, f"the index of a choice, from 0, in {task.label_field!r}", given)


def _index(task: Task, value: Any) -> int | None:
    """The index that a label is; null if it is none."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    is_index = is_number and float(value).is_integer()
    is_name = isinstance(value, str) and value in task.labels
    return class_index(task, value) if value is None or is_index or is_name else None


def _targets(task: Task, _: Split, columns: Columns, __: Texts) -> Iterator[Problem]:
    for row, value in enumerate(columns[task.label_field], start=1):
        if not isinstance(value, str) and not (_is_list(value, str) and len(value)):
            needs = f"a text, or a list of reference texts, in {task.label_field!r}"
            yield Problem(row, needs, _shown(value))


def _answers(task: Task, _: Split, columns: Columns, texts: Texts) -> Iterator[Problem]:
    passage = task.text_fields[-1]
    for row, value in enumerate(columns[task.label_field], start=1):
        if not _is_answers(value):
            form = '{"text": ["cat"], "answer_start": [4]}, with both lists empty for no answer,'
            yield Problem(row, f"answers as {form} in {task.label_field!r}", _shown(value))
            continue
        text = texts[row - 1][-1]
        for answer, start in zip(value["text"], value["answer_start"], strict=True):
            if start == NOWHERE and task.prepare:
                continue
            if start < 0 or not text.startswith(answer, start):
                place = text.find(answer)
                hint = f"which begins at {place}" if place >= 0 else f"which is not in {passage!r}"
                needs = f"each answer at its answer_start, in characters from 0, in {passage!r}"
                yield Problem(row, needs, f"{_shown(answer)} at {start}, {hint}")


def _is_answers(value: Any) -> bool:
    """Whether a label is a mapping with as many answers, none of them empty, as starts."""
    if not isinstance(value, Mapping) or not {"text", "answer_start"} <= value.keys():
        return False
    texts, starts = value["text"], value["answer_start"]
    are_lists = _is_list(texts, str) and _is_list(starts, Integral)
    return are_lists and len(texts) == len(starts) and all(texts)


def _tags(task: Task, _: Split, columns: Columns, __: Texts) -> Iterator[Problem]:
    for row, value in enumerate(columns[task.label_field], start=1):
        if not _is_list(value, str | Integral):
            needs = f"a list with a tag for each word in {task.label_field!r}"
            yield Problem(row, needs, _shown(value))


def _is_list(value: Any, of: Any) -> bool:
    is_list = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return is_list and all(isinstance(part, of) for part in value)


def _shown(value: Any) -> str:
    return "null" if value is None else f"{value!r:.{MAX_SHOWN}}"


CHECKS: Mapping[Kind, Callable[[Task, Split, Columns, Texts], Iterator[Problem]]] = {
    "multiple_choice": _choices,
    "generation": _targets,
    "extraction": _answers,
    "tagging": _tags,
}
"""Kind of task to its check; the labels of others are numbers, which `labels.py` checks."""
