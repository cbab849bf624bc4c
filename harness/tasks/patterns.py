"""Texts of a task that several columns make: the pattern `{word}: {sentence}`."""

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any


def is_pattern(text: str) -> bool:
    """Whether a text field is a pattern, and not the name of a column."""
    return "{" in text


def columns_in(text: str) -> list[str]:
    """The columns of a pattern; a text without braces is the name of one.

    Raises:
        ValueError: what is in the braces names no column.
    """
    if not is_pattern(text):
        return [text]
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(_unreadable(text)) from error
    if not all(name and "{" not in (form or "") for _, name, form, _ in parts):
        raise ValueError(_unreadable(text))
    return [str(name) for _, name, _, _ in parts]


def filled(text: str, columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """The pattern for each row of the columns [num_rows].

    Raises:
        ValueError: a value does not have the format that the pattern gives it.
    """
    names = columns_in(text)
    rows = zip(*(columns[name] for name in names), strict=True)
    try:
        return [text.format_map(dict(zip(names, row, strict=True))) for row in rows]
    except ValueError as error:
        raise ValueError(
            f"the pattern {text!r} of text_fields cannot be filled: {error}"
        ) from error


def _unreadable(text: str) -> str:
    return (
        "a pattern of text_fields must have names of columns in braces, such as '{word}: {text}', "
        f"but is {text!r}"
    )
