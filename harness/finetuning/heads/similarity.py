"""How alike two texts are: the cosine of their vectors, with nothing trained.

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
    """Each text is read alone, its last layer pooled, and the two vectors are compared by cosine
    (Reimers and Gurevych 2019, section 4.1: STS without training on it)."""

    @property
    def num_outputs(self) -> int:
        return 1  # of the head, which is not asked

    def encode(self, examples: Examples) -> Encoded:
        texts = [(text,) for pair in examples.texts for text in pair]
        ids, types, full = tokenize(self.tokenizer, texts, self.protocol.max_sequence_length)
        first_rows = 2 * np.arange(len(examples) + 1)
        truncated = float(full.reshape(-1, 2).any(1).mean())
        return Encoded(ids, types, examples.labels, truncated, first_rows)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The same for every adaptation: weights of a mix of layers would be learned by nothing."""
        return Embedder(backbone, self.num_outputs, self.protocol)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        raise NotImplementedError("nothing is trained for a task of similarity")

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        first, second = outputs.view(-1, 2, outputs.shape[-1]).unbind(1)
        return list(F.cosine_similarity(first, second).tolist())


class Embedder(Classifier):
    """Its outputs are the pooled vectors."""

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[R, H], from the states [R, T, H]."""
        return self.features(batch, states)
