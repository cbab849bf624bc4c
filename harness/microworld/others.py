"""Further tasks of the embedded world."""

from collections.abc import Callable

from harness.microworld.labelled import Rows

OTHERS: dict[str, Callable[[str, int], Rows]] = {}
"""Name to what makes the columns of a split (of a world with this seed)."""
