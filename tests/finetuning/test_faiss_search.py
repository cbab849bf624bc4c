"""Approximate search against all similarities in numpy."""

from typing import Any

import faiss
import numpy as np
import pytest

from harness.finetuning import faiss_search
from harness.finetuning.faiss_search import built, nearest
from harness.finetuning.ranking import NONE
from harness.finetuning.retrieval_index import AnyIndex, Hnsw, Ivf


def unit(*shape: int, seed: int = 0) -> np.ndarray:
    """Random vectors of length 1."""
    drawn = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def exact(queries: np.ndarray, documents: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-(queries @ documents.T), axis=1)[:, :k]


def share_found(numbers: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.mean([np.isin(b, a).mean() for a, b in zip(numbers, wanted, strict=True)]))


@pytest.mark.parametrize(
    "index", [Ivf(lists=8, probes=8), Ivf(probes=200), Hnsw(ef_search=500, ef_construction=500)]
)
def test_a_search_of_everything_is_exact(index: AnyIndex) -> None:
    queries, documents = unit(50, 16), unit(400, 16, seed=1)
    assert (nearest(index, queries, documents, 10) == exact(queries, documents, 10)).all()


def test_more_effort_finds_more() -> None:
    queries, documents = unit(100, 24), unit(2_000, 24, seed=1)
    wanted = exact(queries, documents, 10)
    for indexes, least in (
        ([Hnsw(neighbors=4, ef_construction=10), Hnsw(ef_search=16), Hnsw(ef_search=128)], 0.98),
        ([Ivf(), Ivf(probes=8), Ivf(probes=90)], 0.98),
    ):
        shares = [share_found(nearest(one, queries, documents, 10), wanted) for one in indexes]
        assert shares[0] < shares[1] < shares[2] and shares[2] > least
        assert shares[0] > 10 / 2_000 * 5  # of which chance is a fifth


@pytest.mark.parametrize("index", [Hnsw(neighbors=4, ef_construction=10), Ivf(lists=20)])
def test_equal_vectors_give_equal_results(index: AnyIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one thread, whatever FAISS' number of threads, which stays as it was."""
    queries, documents = unit(200, 16), unit(3_000, 16, seed=1)
    before, found, used = faiss.omp_get_max_threads(), [], []

    def noted(*given: Any) -> Any:
        used.append(faiss.omp_get_max_threads())
        return built(*given)

    monkeypatch.setattr(faiss_search, "built", noted)
    try:
        for threads in (1, 4):
            faiss.omp_set_num_threads(threads)
            found.append(nearest(index, queries, documents, 10))
            assert faiss.omp_get_max_threads() == threads
    finally:
        faiss.omp_set_num_threads(before)
    assert (found[0] == found[1]).all() and used == [1, 1]


def test_a_list_may_hold_too_few() -> None:
    """Two far groups, of which one list is searched."""
    documents = np.array([[1, 0], [0.999, 0.0447], [0, 1]], dtype=np.float32)
    found = nearest(Ivf(lists=2), documents[[2]], documents, 3)
    assert found.tolist() == [[2, NONE, NONE]]


def test_more_lists_than_documents() -> None:
    with pytest.raises(ValueError, match=r"number of documents, 3, but is 5; leave it out"):
        nearest(Ivf(lists=5), unit(1, 4), unit(3, 4), 10)
    assert sorted(nearest(Ivf(probes=9), unit(1, 4), unit(3, 4), 4)[0]) == [NONE, 0, 1, 2]


@pytest.mark.parametrize("index", [Hnsw(), Ivf(lists=3, probes=3)])
def test_vectors_that_are_not_finite_find_nothing(index: AnyIndex) -> None:
    queries, documents = unit(2, 4), unit(3, 4, seed=1)
    queries[0, 2] = documents[1] = np.nan
    found = nearest(index, queries, documents, 3)
    assert (found[0] == NONE).all() and sorted(found[1]) == [NONE, 0, 2]
    assert (nearest(index, queries, documents + np.nan, 3) == NONE).all()
    assert (nearest(index, queries + np.nan, documents, 3) == NONE).all()


def test_defaults_are_those_of_faiss() -> None:
    graph: Any = faiss.HNSW()
    given = Hnsw()
    assert (graph.efConstruction, graph.efSearch) == (given.ef_construction, given.ef_search)
    assert (graph.nb_neighbors(1), graph.nb_neighbors(0)) == (given.neighbors, 2 * given.neighbors)
    lists: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(4), 4, 2)
    assert lists.nprobe == Ivf().probes
