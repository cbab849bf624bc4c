"""Which columns of a file are the label and the texts: by their names, otherwise by content."""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

Rows = Mapping[str, Sequence[Any]]
"""Columns of a file, of equal length."""
LABEL_NAMES = frozenset(
    "label labels class target category sentiment stars rating score similarity relatedness "
    "intent emotion goldlabel".split()
)
TEXT_NAMES = frozenset(
    "text sentence review content comment tweet message utterance document body question".split()
)
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("text1", "text2"),
    ("texta", "textb"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "context"),
    ("question", "passage"),
    ("question", "sentence"),
    ("question", "answer"),
    ("query", "document"),
    ("query", "passage"),
)
"""Names of texts and pairs in lower case, without spaces, hyphens and underscores."""
MAX_VALUES = 20
"""Most different values of a column that is taken for the label by its content."""
MIN_WORDS = 2
"""Fewest words, on average, of a column that is taken for a text by its content."""
SAMPLE = 1_000
"""Rows by which a column is recognised as a text."""


def label_column(rows: Rows, used: Sequence[str] = ()) -> str:
    """The column with the labels.

    Args:
        rows: column to its values [num_rows].
        used: columns that are something else.

    Raises:
        ValueError: none can be it, or more than one.
    """
    others = [name for name in rows if name not in used]
    named = [name for name in others if _plain(name) in LABEL_NAMES]
    found = named or [name for name in others if _recurs(rows[name]) and not _is_text_name(name)]
    if not found:
        raise ValueError(
            f"needs a column with labels, but none of {', '.join(rows)} is named like one (label) "
            f"or has 2 to {MAX_VALUES} different values; set label_field"
        )
    if len(found) > 1:
        raise ValueError(f"the label may be {' or '.join(found)}; set label_field to one of them")
    return found[0]


def text_columns(rows: Rows, used: Sequence[str]) -> list[str]:
    """The column with the text, or the two of a pair.

    Args:
        rows: column to its values [num_rows].
        used: columns that are something else.

    Raises:
        ValueError: none can be it, or more than one choice.
    """
    columns = {_plain(name): name for name in rows if name not in used}
    named = list(_named_texts(columns))
    found = named or [[name] for name in columns.values() if _is_prose(rows[name])]
    if not found:
        raise ValueError(
            f"needs a column with texts, but none of {', '.join(rows)} is named like one (text) or "
            f"has {MIN_WORDS} or more words in a row; set text_fields"
        )
    if len(found) > 1:
        options = " or ".join(" and ".join(names) for names in found)
        raise ValueError(f"the text may be {options}; set text_fields to one or two of them")
    return found[0]


def _named_texts(columns: Mapping[str, str]) -> Iterator[list[str]]:
    """Pairs that are named as such, and named texts that are in no such pair."""
    pairs = [pair for pair in PAIR_NAMES if all(name in columns for name in pair)]
    paired = {name for pair in pairs for name in pair}
    yield from ([columns[name] for name in pair] for pair in pairs)
    yield from ([columns[name]] for name in columns if name in TEXT_NAMES - paired)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.lower())


def _is_text_name(name: str) -> bool:
    plain = _plain(name)
    return plain in TEXT_NAMES or any(plain in pair for pair in PAIR_NAMES)


def _recurs(column: Sequence[Any]) -> bool:
    """Whether a column has a few different values, or fractions."""
    values = [value for value in column if value is not None]
    if not all(isinstance(value, str | int | float) for value in values):
        return False
    distinct = set(values)
    fractions = any(isinstance(value, float) and not value.is_integer() for value in distinct)
    return fractions or 2 <= len(distinct) <= min(MAX_VALUES, len(values) - 1)


def _is_prose(column: Sequence[Any]) -> bool:
    values = [value for value in column[:SAMPLE] if value is not None]
    if not values or not all(isinstance(value, str) for value in values):
        return False
    return fmean(len(value.split()) for value in values) >= MIN_WORDS
