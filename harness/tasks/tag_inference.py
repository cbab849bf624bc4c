"""A tagging task completed from its files: columns by their names, tags and metrics by content."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.tasks.annotated_words import OUTSIDE
from harness.tasks.column_roles import Rows
from harness.tasks.file_rows import column_of, listed

WORD_NAMES = ("words", "tokens")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "labels")
"""Names of columns with a list for each row."""
SPAN_TAG = re.compile(r"[BIES]-.+")


def with_tag_columns(fields: Mapping[str, Any], train: Rows) -> dict[str, Any]:
    """The fields of a task with its columns of words and of tags.

    Args:
        train: column to its values [num_rows].

    Raises:
        ValueError: no column, or more than one, has a name of these.
    """
    words = fields.get("text_fields") or [_named(train, "words", WORD_NAMES, "text_fields")]
    tags = fields.get("label_field") or _named(train, "tags", TAG_NAMES, "label_field")
    return {**fields, "text_fields": words, "label_field": tags}


def _named(rows: Rows, what: str, names: Sequence[str], field: str) -> str:
    found = [name for name in rows if name.lower() in names]
    if len(found) != 1:
        has = f"the file has {listed(found or list(rows))}"
        raise ValueError(
            f"needs one column of {what}, named {' or '.join(names)}, but {has}; set {field}"
        )
    return found[0]


def with_tags(fields: Mapping[str, Any], files: Mapping[str, Rows]) -> dict[str, Any]:
    """The fields of a task with the names of its tags and its metrics.

    Args:
        files: split to the columns of its file, each to its values [num_rows].

    Raises:
        ValueError: a row has no list of tags, or tags are numbers, whose names are unknown.
    """
    found = fields.get("labels") or _tags(str(fields["label_field"]), files)
    # Given labels may be of any type; those that are no names are refused with the task.
    name_spans = isinstance(found, list) and all(map(_names_span, found))
    return {"metrics": ["entity_f1" if name_spans else "accuracy_tags"], **fields, "labels": found}


def _names_span(tag: object) -> bool:
    return isinstance(tag, str) and (tag == OUTSIDE or SPAN_TAG.fullmatch(tag) is not None)


def _tags(field: str, files: Mapping[str, Rows]) -> list[str]:
    """The tags of all files: `O` first, the others in alphabetical order."""
    found: set[str] = set()
    for split, rows in files.items():
        for row, tags in enumerate(column_of(rows, field, split), start=1):
            where = f"row {row} of {split}"
            if not isinstance(tags, list):
                raise ValueError(
                    f"tagging needs a list of tags in {field!r}, but {where} has {tags!r:.40}"
                )
            if others := [tag for tag in tags if not isinstance(tag, str)]:
                raise ValueError(
                    f"tags must be names, but {field!r} has {others[0]!r:.40} in {where}; set "
                    "labels to the list of names that numbers stand for"
                )
            found.update(tags)
    return sorted(found, key=lambda tag: (tag != OUTSIDE, tag))
