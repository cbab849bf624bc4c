"""Retrieval by the cosine of embeddings: exact search among all documents of a split.

Shapes: N examples, Q queries, D documents, H hidden size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.heads.siamese import Similarity
from harness.finetuning.inputs import Batch, Encoded
from harness.finetuning.ranking import collection, places
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
        return places(lambda rows: queries[rows] @ documents.T, found)
