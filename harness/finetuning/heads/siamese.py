"""Both texts of a pair read alone by one network, and their vectors compared, as they are trained
to be (Reimers and Gurevych 2019, section 3).

Shapes: B items, R rows, H hidden size, C classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import initial_range
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.similarity import Embedder, Similarity
from harness.finetuning.inputs import Batch, Encoded, tokenize
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_chain import CONTRADICTED, ENTAILED
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples

HIGHEST = 5.0
"""Of the scores of STS, which are a cosine of 1."""
MARGIN = 1.0
"""Of the triplet loss, in Euclidean distance (Reimers and Gurevych 2019, section 3)."""


class PairEmbedder(Embedder):
    """Its outputs are the logits of pairs, from W (u, v, |u - v|)."""

    def __init__(self, backbone: Backbone, num_outputs: int, protocol: Protocol) -> None:
        super().__init__(backbone, num_outputs, protocol)
        self.head = nn.Linear(3 * backbone.hidden_size, num_outputs)
        nn.init.normal_(self.head.weight, std=initial_range(backbone))
        nn.init.zeros_(self.head.bias)

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, C], from the states [2 B, T, H]."""
        u, v = paired(super().outputs(batch, states))
        logits: Tensor = self.head(torch.cat((u, v, (u - v).abs()), -1))
        return logits


class Softmax(Similarity):
    """Cross-entropy of the classes of a pair."""

    @property
    def num_outputs(self) -> int:
        return len(self.task.labels)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        return PairEmbedder(backbone, self.num_outputs, self.protocol)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(outputs, batch["labels"])

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        return list(outputs.argmax(1).tolist())


class Cosine(Similarity):
    """Mean squared error of the cosine, beside scores from 0 to HIGHEST."""

    def encode(self, examples: Examples) -> Encoded:
        low, high = examples.labels.min(), examples.labels.max()
        if low < 0 or high > HIGHEST:
            raise ValueError(
                f"siamese: cosine needs values from 0 to {HIGHEST:g}, but those of "
                f"{self.task.name} are {low:g} to {high:g}; scale them, or train on another task"
            )
        return super().encode(examples)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        cosine = F.cosine_similarity(*paired(outputs))
        return F.mse_loss(cosine, batch["labels"].to(cosine.dtype) / HIGHEST)


class Triplet(Similarity):
    """max(|a - p| - |a - n| + MARGIN, 0) of an anchor, a text that follows from it and one that
    contradicts it."""

    def encode(self, examples: Examples) -> Encoded:
        texts = [(text,) for three in triplets(examples, self.task.labels) for text in three]
        ids, types, full = tokenize(self.tokenizer, texts, self.protocol.max_sequence_length)
        first_rows = np.arange(0, len(texts) + 1, 3)
        truncated = float(full.reshape(-1, 3).any(1).mean())
        targets = np.zeros(len(first_rows) - 1, dtype=np.int64)  # the order of the rows says all
        return Encoded(ids, types, targets, truncated, first_rows)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        anchor, positive, negative = outputs.view(-1, 3, outputs.shape[-1]).unbind(1)
        return F.triplet_margin_loss(anchor, positive, negative, margin=MARGIN)


def paired(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """[2 B, H] vectors to those of the first and of the second texts, [B, H] each."""
    first, second = outputs.view(-1, 2, outputs.shape[-1]).unbind(1)
    return first, second


def triplets(examples: Examples, labels: Sequence[str]) -> list[tuple[str, str, str]]:
    """(first text, entailed, contradicted) of every entailed pair, in their order.

    A contradicted text is the anchor's own, the first one, if it has any; else that of another
    pair, of each in turn.

    Raises:
        ValueError: no pair is entailed, or none contradicted.
    """
    kinds = [labels[int(label)] for label in examples.labels]
    of = {
        kind: [pair for pair, its in zip(examples.texts, kinds, strict=True) if its == kind]
        for kind in (ENTAILED, CONTRADICTED)
    }
    for kind, pairs in of.items():
        if not pairs:
            raise ValueError(f"triplets need pairs labelled {kind}, but there are none")
    own = {pair[0]: pair[1] for pair in reversed(of[CONTRADICTED])}
    others = [text for _, text in of[CONTRADICTED]]
    return [
        (anchor, entailed, own.get(anchor, others[place % len(others)]))
        for place, (anchor, entailed) in enumerate(of[ENTAILED])
    ]


SIAMESE: dict[str, type[TaskHead]] = {"softmax": Softmax, "cosine": Cosine, "triplet": Triplet}
"""Name in `harness.finetuning.task_chain.Siamese` to the head that trains so."""
