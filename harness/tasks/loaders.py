"""Data sets that functions of plug-ins load."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from harness.core.config import unknown_name
from harness.core.errors import MemberError
from harness.tasks.annotated_words import Columns

Loader = Callable[[str], Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]]
"""From the name of a split to its columns, or to its examples, mappings with the same keys."""
DATASETS: dict[str, Loader] = {}
"""Name to loader; none is shipped."""
NEEDED = "must return or yield examples, mappings with the same keys, or a mapping of columns"


def check_name(name: str) -> None:
    """Raises ValueError if no plug-in has a data set of this name."""
    if name not in DATASETS:
        raise ValueError(unknown_name("the data set", name, DATASETS))


def load(name: str, split: str) -> Columns:
    """The columns of a split, which are kept for the next call.

    Raises:
        ValueError: no plug-in has this data set.
        MemberError: its loader returns something else, or columns of unequal length.
        Exception: whatever the loader raises.
    """
    check_name(name)
    return _loaded(DATASETS[name], name, split)


@lru_cache(maxsize=8)
def _loaded(loader: Loader, name: str, split: str) -> Columns:
    where = f"the data set {name!r}, split {split!r}"
    found = loader(split)
    columns = _columns(found)
    if columns is None:
        raise MemberError(f"{where}: its loader {NEEDED}, but gave {found!r:.60}", loader)
    sizes = {field: len(column) for field, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise MemberError(f"{where}: its columns must have equal lengths, but have {sizes}", loader)
    return columns


def _columns(found: Any) -> Columns | None:
    """Null if it is neither columns nor examples."""
    if isinstance(found, Mapping):
        return {str(field): _plain(column) for field, column in found.items()}
    rows = list(found) if isinstance(found, Iterable) else []
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    if any(row.keys() != rows[0].keys() for row in rows):
        return None
    return {str(field): _plain(row[field] for row in rows) for field in rows[0]}


def _plain(column: Iterable[Any]) -> list[Any]:
    """Its values, without the number types of NumPy, which labels would not recognise."""
    return [value.item() if isinstance(value, np.generic) else value for value in column]
