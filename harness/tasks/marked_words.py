"""Where the words that examples are about stand in their texts."""

import re

from harness.tasks.annotated_words import Columns
from harness.tasks.patterns import columns_in, filled, is_pattern
from harness.tasks.task import Task

Span = tuple[int, int]
"""The first character of a word in a text, and the one after its last."""


def check_marked_words(task: Task) -> None:
    """Checks that words are marked in each text of a task, and that its kind may have them.

    Raises:
        ValueError: they are not.
    """
    if not task.marked_words:
        return
    if task.kind not in ("classification", "regression"):
        raise ValueError(
            f"marked_words is for classification and regression, but {task.name!r} is {task.kind}"
        )
    marked = [_marked_column(task, text) for text in task.text_fields]
    if unused := [one for one in task.marked_words if one not in marked]:
        raise ValueError(
            f"marked_words of {task.name!r} must name fields of its texts, "
            f"{' and '.join(task.text_fields)}, but has {unused[0]!r}"
        )


def marked_fields(task: Task) -> list[str]:
    """The columns that say where the marked words of a task are."""
    places = task.marked_words.values()
    return [name for place in places for name in ([place] if isinstance(place, str) else place)]


def marked_spans(task: Task, columns: Columns) -> list[tuple[Span, ...]] | None:
    """The place of the marked word in each text of each row; null if the task marks none.

    Raises:
        ValueError: a word does not occur in its text, or its place is outside it.
    """
    if not task.marked_words:
        return None
    of_texts = [_spans(task, text, columns) for text in task.text_fields]
    return list(zip(*of_texts, strict=True))


def _marked_column(task: Task, text: str) -> str:
    """The column of a text field whose words are marked.

    Raises:
        ValueError: there is not one.
    """
    found = [name for name in columns_in(text) if name in task.marked_words]
    if len(found) != 1:
        raise ValueError(
            f"marked_words of {task.name!r} must mark a word in each of its texts, one alone, but "
            f"marks {len(found)} in {text!r}"
        )
    if is_pattern(text) and f"{{{found[0]}}}" not in text:
        raise ValueError(
            f"marked_words of {task.name!r} must mark a word of a field that its text has as it "
            f"is, as {{{found[0]}}}, but {text!r} gives it a format"
        )
    return found[0]


def _spans(task: Task, text: str, columns: Columns) -> list[Span]:
    """The places of the marked words in the texts of one field."""
    name = _marked_column(task, text)
    place, sentences = task.marked_words[name], columns[name]
    if isinstance(place, str):
        found = [_occurrence(*pair) for pair in zip(columns[place], sentences, strict=True)]
    else:
        places = zip(*(columns[one] for one in place), sentences, strict=True)
        found = [_within(*one) for one in places]
    spans = []
    for row, (span, shift) in enumerate(zip(found, _shifts(text, name, columns), strict=True)):
        if span is None:
            fields = place if isinstance(place, str) else " and ".join(place)
            raise ValueError(
                f"{task.name} marks a word of {name!r} by {fields}, but row {row + 1} has none "
                f"there: {sentences[row]!r:.80}"
            )
        spans.append((span[0] + shift, span[1] + shift))
    return spans


def _occurrence(word: object, sentence: str) -> Span | None:
    """The first whole occurrence of a word, in letters of any case."""
    if not isinstance(word, str) or not word.strip():
        return None
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.IGNORECASE)
    return found.span() if found else None


def _within(start: object, end: object, sentence: str) -> Span | None:
    """A place in a sentence; null if it is outside, or none."""
    if not (isinstance(start, int | float) and isinstance(end, int | float)):
        return None
    return (int(start), int(end)) if 0 <= start < end <= len(sentence) else None


def _shifts(text: str, name: str, columns: Columns) -> list[int]:
    """Number of characters that a text has before its column `name`, in each row."""
    head = text[: text.index(f"{{{name}}}")] if is_pattern(text) else ""
    if columns_in(head) and is_pattern(head):
        return list(map(len, filled(head, columns)))
    return [len(head.format())] * len(columns[name])
