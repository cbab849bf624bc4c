"""Retrieval by the cosine of embeddings among all documents of a split: by exact search, or by an
approximate index.

Shapes: N examples, Q queries, D documents, H hidden size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.heads.siamese import Similarity
from harness.finetuning.inputs import Batch, Encoded
from harness.finetuning.ranking import collection, listed_places, places
from harness.tasks.examples import Examples


class Retrieval(Similarity):
    """The place of each example's document by cosine with its query, without training. Queries and
    documents are encoded once, whatever the number of pairs."""

    def encode(self, examples: Examples) -> Encoded:
        """A row for each query [Q], then for each document [D]."""
        found = collection(examples)
        texts = [(text,) for text in (*found.queries, *found.documents)]
        return self.tokenized(texts, np.zeros(len(texts)))

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] vectors [H] of length 1, from vectors [B, H]."""
        return list(F.normalize(outputs, dim=-1).cpu().numpy())

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[N] `harness.finetuning.ranking.Place` of each example's document."""
        found = collection(examples)
        queries, documents = np.split(np.stack(decoded), [len(found.queries)])
        index = self.protocol.index
        if index is None:
            return places(lambda rows: queries[rows] @ documents.T, found)
        from harness.finetuning.faiss_search import nearest  # an optional dependency

        numbers = nearest(index, queries, documents, index.top_k + found.most_left_out)
        return listed_places(numbers, (queries, documents), found, index.top_k)
