"""Approximate indexes of documents, as an experiment declares them. The names of FAISS' defaults
are those of its classes `IndexHNSWFlat` and `IndexIVFFlat`."""

from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from harness.core.config import ConfigModel, kind_from_name

PACKAGE = "faiss"
DEEPEST = 10
"""Documents that a metric of retrieval reads: those of nDCG@10."""
Effort = Field(ge=1, le=1_000_000)


class RetrievalIndex(ConfigModel):
    """An index of documents that finds most of the nearest to a query, but compares it with few."""

    kind: str
    top_k: int = Field(default=DEEPEST, ge=DEEPEST, le=1_000_000)
    """Documents that are found for a query; to the metrics, no others exist."""

    @property
    def label(self) -> str:
        """The kind with its fields: `hnsw top_k=10 neighbors=32`."""
        fields = self.model_dump(exclude={"kind"}, exclude_none=True)
        return " ".join([self.kind, *(f"{name}={value}" for name, value in fields.items())])


class Hnsw(RetrievalIndex):
    """A hierarchical graph of near documents, in which a search walks to nearer ones (Malkov and
    Yashunin 2018)."""

    kind: Literal["hnsw"] = "hnsw"
    neighbors: int = Field(default=32, ge=2, le=1_000)
    """Links of a document, M of the paper; twice as many in the lowest layer. FAISS: M = 32."""
    ef_construction: Annotated[int, Effort] = 40
    """Candidates that are kept while a document is linked. FAISS: efConstruction = 40."""
    ef_search: Annotated[int, Effort] = 16
    """Candidates that are kept while a query is searched. FAISS: efSearch = 16."""

    @model_validator(mode="after")
    def _keeps_enough(self) -> "Hnsw":
        if self.ef_search < self.top_k:
            raise ValueError(
                f"ef_search must be at least top_k ({self.top_k}), as FAISS keeps no fewer "
                f"candidates than it returns, but is {self.ef_search}; raise it"
            )
        return self


class Ivf(RetrievalIndex):
    """An inverted file: documents in lists by the nearest centroid of k-means, of which the lists
    near the query are searched (Jégou et al. 2011, with whole vectors in place of their codes)."""

    kind: Literal["ivf"] = "ivf"
    lists: Annotated[int, Effort] | None = None
    """Number of lists; null: four times the root of the number of documents, the fewest of FAISS'
    guidelines for up to a million (its wiki, "Guidelines to choose an index")."""
    probes: Annotated[int, Effort] = 1
    """Lists that are searched. FAISS: nprobe = 1."""

    @model_validator(mode="after")
    def _has_the_lists(self) -> "Ivf":
        if self.lists is not None and self.probes > self.lists:
            raise ValueError(
                f"probes must be at most lists ({self.lists}), but is {self.probes}; with as many, "
                "the search is exact"
            )
        return self


AnyIndex = Annotated[Hnsw | Ivf, Discriminator("kind"), BeforeValidator(kind_from_name)]


def missing_package() -> str:
    """The error if the library of the indexes is not installed; empty if it is."""
    if find_spec(PACKAGE):
        return ""
    return (
        "needs the package faiss-cpu, which is not installed: pip install "
        "'pretraining-harness[index]', or leave it out for exact search"
    )
