"""Rows of the files of a task that is declared by its data."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.core.files import file_exists, folder_exists, searched_from, user_path
from harness.data import hub
from harness.data.digests import digest
from harness.tasks.column_roles import Rows
from harness.tasks.data_files import first_rows, header


def read_rows(source: str, file: str) -> Rows:
    """The columns of a file in a format such as csv: name to [num_rows] values.

    Raises:
        ValueError: there is no such file, it has no rows, or is of another format.
    """
    path = user_path(file)
    if not file_exists(path):
        missing = f"it does not exist{searched_from(path)}"
        found = "it is a folder" if folder_exists(path) else missing
        raise ValueError(f"needs the file {path}, but {found}")
    if source not in hub.FILE_FORMATS:
        raise ValueError(f"data.source must be {listed(hub.FILE_FORMATS)}, but is {source!r}")
    if not path.stat().st_size:
        raise ValueError(f"{path} must have names of columns and rows, but is empty")
    columns = header(path, source)  # another separator is named here
    if not any(first_rows(path, source, 1).values()):
        raise ValueError(f"{path} must have rows below {listed(columns)}, but has none")
    return _cached(source, path, digest([path]))


@lru_cache(maxsize=8)
def _cached(source: str, path: Path, content: str) -> Rows:
    """The columns of a file; the digest of its content is a key of the cache only."""
    rows: Rows = hub.load_file(source, path)[:]
    return rows


def column_of(rows: Rows, field: str, split: str) -> Sequence[Any]:
    """The values of a column, [num_rows].

    Raises:
        ValueError: the file of the split lacks it.
    """
    if field not in rows:
        raise ValueError(f"needs the column {field!r}, but {split} has {', '.join(rows)}")
    return rows[field]


def listed(names: Sequence[str] | Mapping[str, Any], most: int = 10) -> str:
    """The first names, with an ellipsis for others."""
    shown = list(names)
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
