"""Columns of a data set, as it is published, to the columns that a task names.

A preparation is a pure function of all columns of a split; it may add rows and leave some out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]

PREPARATIONS: dict[str, Callable[[Columns], Columns]] = {}
"""Name to the function; named by `Task.prepare`."""
