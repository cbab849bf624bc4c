"""The places of documents among all of a collection.

Shapes: N examples, D documents.
"""

from collections.abc import Callable

import numpy as np

from harness.tasks.examples import Examples, column

Place = tuple[int, int]
"""Numbers of documents with a higher similarity, and of others with the same."""
AT_ONCE = 1024
"""Queries whose similarities are in memory together."""


def collection(examples: Examples) -> tuple[list[str], np.ndarray]:
    """The distinct second texts of all examples, in order, and [N] the number of each example's."""
    numbers: dict[str, int] = {}
    own = [numbers.setdefault(text, len(numbers)) for _, text in examples.texts]
    return list(numbers), np.array(own)


def places(similarities: Callable[[slice], np.ndarray], numbers: np.ndarray) -> np.ndarray:
    """[N] `Place` of each example's document; NaN counts as the lowest similarity.

    Args:
        similarities: of the examples in a slice with all documents, [n, D].
        numbers: [N] of each example's document.
    """
    found: list[Place] = []
    for start in range(0, len(numbers), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        given = similarities(rows)
        given = np.where(np.isnan(given), -np.inf, given)
        own = np.take_along_axis(given, numbers[rows, None], axis=1)
        before, equal = (given > own).sum(axis=1), (given == own).sum(axis=1) - 1
        found += zip(before.tolist(), equal.tolist(), strict=True)
    return column(found)
