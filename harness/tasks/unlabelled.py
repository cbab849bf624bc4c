"""Examples that are in no data set, and predictions for them by the names of classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.tasks.examples import HIDDEN, Answers, Examples, clusters, column
from harness.tasks.load_examples import IN_LISTS
from harness.tasks.scores import plain
from harness.tasks.task import Kind, Task

Text = str | Sequence[str] | np.ndarray
"""A text; (first, second) of a pair; or a list of words or sentences."""
CLASSES: tuple[Kind, ...] = ("classification", "multiple_choice")
"""Kinds whose labels are numbers of classes or choices."""
_UNKNOWN: Mapping[Kind, Callable[[tuple[str, ...]], Any]] = {
    "extraction": lambda _: Answers((), ()),
    "tagging": lambda words: (0,) * len(words),
    "coreference": lambda _: (),
    "generation": lambda _: ("",),
}
"""Kind of task to the label of an example that has none; of the other kinds, the number HIDDEN."""


def unlabelled(
    task: Task, texts: Iterable[Text], choices: Sequence[Sequence[str]] | None = None
) -> Examples:
    """The texts as examples of a task, without labels.

    Args:
        texts: as the inputs of the task, in the order of `text_fields`: a text for each example, or
            (first, second); for tagging a list of words, for coreference a list of sentences.
        choices: of each example of a multiple-choice task.

    Raises:
        ValueError: an example has not the parts that the task needs, or the task ranks all texts of
            a split.
    """
    if task.kind == "retrieval":
        raise ValueError(f"{task.name} ranks all texts of a split, so it predicts nothing for one")
    if isinstance(texts, (str, Mapping)) or not isinstance(texts, Iterable):
        raise ValueError(f"{task.name} needs a list of examples, but is given {texts!r:.60}")
    rows = [_parts(task, row, text) for row, text in enumerate(texts)]
    return Examples(rows, _labels(task, rows), _choices(task, len(rows), choices))


def in_words(task: Task, predictions: np.ndarray, examples: Examples) -> list[Any]:
    """Predictions [num_examples] as a user reads them: the name of a class, the text of a choice, a
    number, a text, a list of tags, or the (first, last) words of the mentions of each entity.

    Null: generated text names no class or choice.
    """
    return [_in_words(task, plain(one), examples, row) for row, one in enumerate(predictions)]


def _labels(task: Task, rows: Sequence[tuple[str, ...]]) -> np.ndarray:
    if unknown := _UNKNOWN.get(task.kind):
        return column([unknown(row) for row in rows])
    return np.full(len(rows), HIDDEN, dtype=np.int64 if task.kind in CLASSES else np.float64)


def _parts(task: Task, row: int, text: Text) -> tuple[str, ...]:
    is_text, is_list = isinstance(text, str), task.kind in IN_LISTS
    has_parts = isinstance(text, (Sequence, np.ndarray)) and not is_text
    parts: tuple[Any, ...] = tuple(text) if has_parts else (text,)
    fits = bool(parts) and not is_text if is_list else len(parts) == len(task.text_fields)
    if fits and all(isinstance(part, str) for part in parts):
        return parts
    if is_list:
        wanted = f"a list of {'words' if task.kind == 'tagging' else 'sentences'}"
    else:
        wanted = "a text" if len(task.text_fields) == 1 else f"({', '.join(task.text_fields)})"
    raise ValueError(f"{task.name} needs {wanted} for each example, but example {row} is {text!r}")


def _choices(
    task: Task, num_examples: int, choices: Sequence[Sequence[str]] | None
) -> list[tuple[str, ...]] | None:
    if task.kind != "multiple_choice":
        if choices is not None:
            raise ValueError(f"{task.name} is not multiple choice, so it takes no choices")
        return None
    if choices is None or len(choices) != num_examples or any(isinstance(c, str) for c in choices):
        given = "none" if choices is None else f"{len(choices)} for {num_examples} examples"
        raise ValueError(
            f"{task.name} needs choices, a list of texts for each example, but has {given}"
        )
    return [tuple(row) for row in choices]


def _in_words(task: Task, value: Any, examples: Examples, row: int) -> Any:
    if task.kind == "coreference":
        return clusters(value)
    if task.kind == "multiple_choice":
        return _named(examples.choices[row] if examples.choices else (), value)
    if task.kind == "classification":
        return _named(task.labels, value)
    return [_named(task.labels, tag) for tag in value] if task.kind == "tagging" else value


def _named(names: Sequence[str], index: float) -> str | None:
    return names[int(index)] if 0 <= index < len(names) else None
