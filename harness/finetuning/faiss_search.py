"""Search in approximate indexes of FAISS.

Results are a function of the vectors on one kind of processor, whose instructions decide the last
bits of a similarity: FAISS draws the layers of HNSW and the first centroids of k-means from fixed
seeds, and all runs in one thread.

Shapes: Q queries, D documents, H width of an embedding, K documents that are returned.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np

from harness.finetuning.ranking import NONE
from harness.finetuning.retrieval_index import AnyIndex, Hnsw, Ivf


def nearest(index: AnyIndex, queries: np.ndarray, documents: np.ndarray, k: int) -> np.ndarray:
    """[Q, K] numbers of up to `k` documents near each query, int64, NONE after the last that is
    found.

    Vectors that are not finite, as of a run that diverged, find nothing and are not found.

    Args:
        queries: [Q, H] of length 1, float32.
        documents: [D, H], as queries.

    Raises:
        ValueError: the index has more lists than there are documents.
    """
    _check(index, len(documents))
    numbers = np.full((len(queries), k), NONE, dtype=np.int64)
    kept = np.flatnonzero(np.isfinite(documents).all(1))
    asked = np.flatnonzero(np.isfinite(queries).all(1))
    if len(kept) and len(asked):
        with _one_thread():
            _, found = built(index, documents[kept]).search(queries[asked], k)
        numbers[asked] = np.where(found < 0, NONE, kept[found])
    return numbers


def built(index: AnyIndex, documents: np.ndarray) -> Any:
    """FAISS' index of documents [D, H] by inner product, which for vectors of length 1 orders them
    as their distance does."""
    made = _graph(index, documents) if isinstance(index, Hnsw) else _lists(index, documents)
    made.add(documents)
    return made


def _graph(index: Hnsw, documents: np.ndarray) -> Any:
    width, metric = documents.shape[1], faiss.METRIC_INNER_PRODUCT
    graph: Any = faiss.index_factory(width, f"HNSW{index.neighbors},Flat", metric)
    graph.hnsw.efConstruction, graph.hnsw.efSearch = index.ef_construction, index.ef_search
    return graph


def _lists(index: Ivf, documents: np.ndarray) -> Any:
    """Trained on the documents themselves."""
    width, metric = documents.shape[1], faiss.METRIC_INNER_PRODUCT
    number = min(index.lists or math.ceil(4 * math.sqrt(len(documents))), len(documents))
    lists: Any = faiss.index_factory(width, f"IVF{number},Flat", metric)
    lists.cp.min_points_per_centroid = 1  # below its 39, FAISS only prints a warning
    lists.train(documents)
    lists.nprobe = index.probes
    return lists


def _check(index: AnyIndex, num_documents: int) -> None:
    if isinstance(index, Ivf) and index.lists and index.lists > num_documents:
        raise ValueError(
            f"evaluate.protocol.index.lists must be at most the number of documents, "
            f"{num_documents:,}, but is {index.lists:,}; leave it out for four times its root"
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """A context in which FAISS has one thread: several link documents of HNSW in any order."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
