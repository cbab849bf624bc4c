"""The axes of a grid along which values grow: numbers of labels, budgets, sizes."""

from collections.abc import Sequence
from itertools import pairwise

from harness.core.config import read_count
from harness.models import SIZES


def is_ordered(labels: Sequence[str]) -> bool:
    """Whether the labels of an axis are numbers (`500k`, `epochs=3`) or named sizes, each larger
    than the one before."""
    numbers = [_number(label) for label in labels]
    return all(a is not None and b is not None and a < b for a, b in pairwise(numbers))


def _number(label: str) -> float | None:
    text = label.rpartition("=")[2]
    if text in SIZES:
        return float(SIZES[text].hidden_size)
    try:
        return float(read_count(text))
    except ValueError:
        return None
