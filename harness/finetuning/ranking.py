"""The places of documents among all of a collection.

Shapes: N examples, Q queries, D documents, K documents that an index returns, H width of a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.tasks.examples import Examples, column
from harness.tasks.metrics.retrieval import NOT_FOUND

Place = tuple[int, int]
"""Numbers of documents with a higher similarity, and of others with the same; NOT_FOUND for a
document that an index does not return."""
Vectors = tuple[np.ndarray, np.ndarray]
NONE = -1
"""Number of no document."""
AT_ONCE = 1024
"""Queries whose similarities are in memory together."""


@dataclass(frozen=True)
class Collection:
    """The distinct texts of pairs of queries and documents."""

    queries: list[str]
    """[Q] first texts, in order."""
    documents: list[str]
    """[D] second texts, in order."""
    pairs: np.ndarray
    """[N, 2] the number of each example's query, and of its document."""
    left_out: np.ndarray
    """[N] whether the document is no answer to the query, and not ranked for it: its grade is below
    0, as of the document that a query is (BEIR ignores identical ids)."""

    @property
    def members(self) -> list[np.ndarray]:
        """[Q] the numbers of each query's examples."""
        queries = self.pairs[:, 0]
        order = np.argsort(queries, kind="stable")
        return np.split(order, np.cumsum(np.bincount(queries))[:-1])[: len(self.queries)]

    @property
    def most_left_out(self) -> int:
        """Most documents that are left out for one query."""
        return max((int(self.left_out[rows].sum()) for rows in self.members), default=0)


def collection(examples: Examples) -> Collection:
    """The queries and documents of all examples."""
    texts: tuple[dict[str, int], dict[str, int]] = {}, {}
    pairs = [
        [known.setdefault(text, len(known)) for known, text in zip(texts, pair, strict=True)]
        for pair in examples.texts
    ]
    left_out = examples.labels.astype(np.float64) < 0
    return Collection(
        list(texts[0]), list(texts[1]), np.array(pairs, np.int64).reshape(-1, 2), left_out
    )


def places(similarities: Callable[[slice], np.ndarray], found: Collection) -> np.ndarray:
    """[N] `Place` of each example's document; NaN counts as the lowest similarity.

    Args:
        similarities: of the queries in a slice with all documents, [n, D].
    """
    documents, members = found.pairs[:, 1], found.members
    result = column([(0, 0)] * len(documents))
    for start in range(0, len(found.queries), AT_ONCE):
        given = similarities(slice(start, start + AT_ONCE))
        given = np.where(np.isnan(given), -np.inf, given)
        for row, rows in zip(given, members[start : start + AT_ONCE], strict=True):
            ranked = np.sort(np.delete(row, documents[rows[found.left_out[rows]]]))
            own = row[documents[rows]]
            below, upto = (np.searchsorted(ranked, own, side) for side in ("left", "right"))
            equal = upto - below - ~found.left_out[rows]
            result[rows] = column(
                list(zip((len(ranked) - upto).tolist(), equal.tolist(), strict=True))
            )
    return result


def listed_places(numbers: np.ndarray, vectors: Vectors, found: Collection, at: int) -> np.ndarray:
    """[N] `Place` of each example's document among the first `at` that an index returns, without
    those that are left out.

    Args:
        numbers: [Q, K] numbers of the documents that are returned, or NONE.
        vectors: of queries [Q, H] and documents [D, H], whose products are the similarities.
    """
    documents = found.pairs[:, 1]
    result = column([NOT_FOUND] * len(documents))
    for query, returned, rows in zip(vectors[0], numbers, found.members, strict=True):
        hidden = [NONE, *documents[rows[found.left_out[rows]]]]
        listed = returned[~np.isin(returned, hidden)]
        # Not those of the index: its sums of equal vectors may differ in the last bit.
        given = np.einsum("h,kh->k", query, vectors[1][listed])
        first = np.lexsort((listed, -given))[:at]
        listed, given = listed[first], given[first]
        for example in rows[np.isin(documents[rows], listed)]:
            own = given[listed == documents[example]]
            result[example] = int((given > own).sum()), int((given == own).sum()) - 1
    return result
