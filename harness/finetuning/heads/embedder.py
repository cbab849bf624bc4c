"""Texts as vectors: the pooled states of a network, and pairs of them.

Shapes: B items, R rows (all texts of all items), T tokens, H hidden size, E width of an embedding,
C classes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.finetuning.heads.classifier import Classifier, output_layer
from harness.finetuning.inputs import Batch
from harness.finetuning.protocol import Protocol
from harness.models.backbone import Backbone
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding
from harness.models.pooling import pool

HIDDEN = 512
"""Units of InferSent's hidden layer (facebookresearch/InferSent, train_nli.py: `--fc_dim 512`)."""


class Embedder(Classifier):
    """A model whose outputs are the pooled vectors of a layer (null: the last); with `native`
    pooling, those that a sentence-transformers model defines.

    Raises:
        ValueError: its definition is not supported, or there is no such layer.
    """

    def __init__(
        self,
        backbone: Backbone,
        num_outputs: int,
        protocol: Protocol,
        layer: int | None = None,
    ) -> None:
        super().__init__(backbone, num_outputs, protocol)
        if layer is not None:
            self.read_layer(layer)
        own = backbone.embedding if protocol.pooling == "native" else None
        if own and own.problem:
            raise ValueError(own.problem)
        self.poolings: tuple[str, ...] = own.poolings if own else (self.pooling,)
        self.projection = nn.Sequential(*(backbone.projection if own else ()))
        self.normalize = bool(own and own.normalize)
        self.width = (own or SentenceEmbedding()).widths(backbone.hidden_size)[-1]
        """E."""

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[R, E], from the states [R, T, H]."""
        (state,) = states
        pooled = [pool(state, batch["attention_mask"], one) for one in self.poolings]
        vectors = self.projection(torch.cat(pooled, -1))
        return F.normalize(vectors, dim=-1) if self.normalize else vectors


class PairEmbedder(Embedder):
    """A model whose outputs are the logits W (u, v, |u - v|) of pairs."""

    def __init__(self, backbone: Backbone, num_outputs: int, protocol: Protocol) -> None:
        super().__init__(backbone, num_outputs, protocol)
        self.head = self._classifier(num_outputs)

    def _classifier(self, num_outputs: int) -> nn.Module:
        """From the features of pairs to logits [B, C]."""
        return output_layer(self.backbone, 3 * self.width, num_outputs)

    def compared(self, u: Tensor, v: Tensor) -> Tensor:
        """[B, 3 E], from both vectors [B, E] of each pair."""
        return torch.cat((u, v, (u - v).abs()), -1)

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, C], from the states [2 B, T, H]."""
        u, v = grouped(super().outputs(batch, states), 2)
        logits: Tensor = self.head(self.compared(u, v))
        return logits


class InferSentEmbedder(PairEmbedder):
    """A model whose outputs are the logits of pairs from (u, v, |u - v|, u * v) by a hidden layer
    of HIDDEN units with tanh and a linear layer (Conneau et al. 2017; facebookresearch/InferSent,
    models.py, `NLINet`)."""

    def _classifier(self, num_outputs: int) -> nn.Module:
        return nn.Sequential(
            output_layer(self.backbone, 4 * self.width, HIDDEN),
            nn.Tanh(),
            output_layer(self.backbone, HIDDEN, num_outputs),
        )

    def compared(self, u: Tensor, v: Tensor) -> Tensor:
        """[B, 4 E], from both vectors [B, E] of each pair."""
        return torch.cat((super().compared(u, v), u * v), -1)


def grouped(outputs: Tensor, size: int) -> tuple[Tensor, ...]:
    """[R, E] vectors of consecutive rows to `size` tensors [R / size, E]: the first of each group,
    the second, ..."""
    return outputs.view(-1, size, outputs.shape[-1]).unbind(1)
