"""Text similarity: the cosine of two sentence embeddings, without training.

Shapes: B items, R rows (2 B: both texts of each), H hidden size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, tokenize
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples


class Similarity(TaskHead):
    """Cosine of the pooled last layers of two texts encoded separately (Reimers and Gurevych 2019,
    section 4.1: STS without training on it)."""

    @property
    def num_outputs(self) -> int:
        """One, of an output layer that is not used."""
        return 1

    def encode(self, examples: Examples) -> Encoded:
        """Two rows per example."""
        texts = [(text,) for pair in examples.texts for text in pair]
        ids, types, full = tokenize(self.tokenizer, texts, self.protocol.max_sequence_length)
        first_rows = 2 * np.arange(len(examples) + 1)
        truncated = float(full.reshape(-1, 2).any(1).mean())
        return Encoded(ids, types, examples.labels, truncated, first_rows)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The same for every adaptation: layer-mixing weights would stay untrained."""
        return Embedder(backbone, self.num_outputs, self.protocol)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Not supported.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("similarity tasks are not trained on")

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] cosines of vectors [2 B, H]."""
        first, second = grouped(outputs, 2)
        return list(F.cosine_similarity(first, second).tolist())


def grouped(outputs: Tensor, size: int) -> tuple[Tensor, ...]:
    """[R, H] vectors of consecutive rows to `size` tensors [R / size, H]: the first of each group,
    the second, ..."""
    return outputs.view(-1, size, outputs.shape[-1]).unbind(1)


class Embedder(Classifier):
    """A model whose outputs are the pooled vectors."""

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[R, H], from the states [R, T, H]."""
        return self.features(batch, states)
