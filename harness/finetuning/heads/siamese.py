"""Both texts of a pair encoded separately by one network: similarity without training, and
bi-encoders trained by comparing the vectors (Conneau et al. 2017; Henderson et al. 2017; Reimers
and Gurevych 2019; Gao et al. 2021).

Shapes: B items, N candidates, H width of an embedding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation, Frozen
from harness.finetuning.divergences import squared_differences
from harness.finetuning.heads.classification import Classification
from harness.finetuning.heads.embedder import (
    Embedder,
    InferSentEmbedder,
    PairEmbedder,
    grouped,
)
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.multiple_choice import contexts
from harness.finetuning.inputs import Batch, Encoded
from harness.finetuning.task_chain import CONTRADICTED, ENTAILED
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples

HIGHEST = 5.0
"""STS score that corresponds to a cosine of 1."""
MARGIN = 1.0
"""Euclidean margin of the triplet loss (Reimers and Gurevych 2019, section 3)."""
TEMPERATURE = 0.05
"""Divisor of the cosines in contrastive losses (princeton-nlp/SimCSE, run_unsup_example.sh and
run_sup_example.sh: `--temp 0.05`; Gao et al. 2021, equation 1)."""
SAMPLE = (8, 8)
"""Rows and tokens of the input by which a network is tested for dropout."""


class SeparateTexts(TaskHead):
    """A task of pairs whose two texts are encoded separately."""

    def encode(self, examples: Examples) -> Encoded:
        """Two rows per example."""
        texts = [(text,) for pair in examples.texts for text in pair]
        return self.tokenized(texts, examples.labels, 2 * np.arange(len(examples) + 1))


class Similarity(SeparateTexts):
    """Cosine of the pooled last layers of two texts (Reimers and Gurevych 2019, section 4.1: STS
    without training on it), or of the layer of a frozen network; 0 are the embeddings."""

    num_outputs = 1
    """Of an output layer that is not used."""

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """Of the layer of a frozen network; otherwise the same for every adaptation, as
        layer-mixing weights would stay untrained."""
        layer = adaptation.layer if isinstance(adaptation, Frozen) else None
        return Embedder(backbone, self.num_outputs, self.protocol, layer)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Undefined for vectors [2 B, H]: similarity tasks have no train set."""
        raise NotImplementedError("similarity tasks are not trained on")

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] cosines of vectors [2 B, H]."""
        first, second = grouped(outputs, 2)
        return list(F.cosine_similarity(first, second).tolist())


class Softmax(SeparateTexts, Classification):
    """Cross-entropy over the classes of a pair."""

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """A bi-encoder with a softmax layer; `adaptation` is ignored."""
        return PairEmbedder(backbone, self.num_outputs, self.protocol)


class InferSent(Softmax):
    """Cross-entropy over the classes of a pair, by InferSent's features and hidden layer."""

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """A bi-encoder with InferSent's classifier; `adaptation` is ignored."""
        return InferSentEmbedder(backbone, self.num_outputs, self.protocol)


class Cosine(Similarity):
    """Mean squared error between the cosine and the score, scaled from 0..HIGHEST to 0..1."""

    def encode(self, examples: Examples) -> Encoded:
        """Two rows per example.

        Raises:
            ValueError: a score is outside 0..HIGHEST.
        """
        low, high = examples.labels.min(), examples.labels.max()
        if low < 0 or high > HIGHEST:
            raise ValueError(
                f"siamese: cosine needs values from 0 to {HIGHEST:g}, but those of "
                f"{self.task.name} are {low:g} to {high:g}; scale them, or train on another task"
            )
        return super().encode(examples)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean squared error of the cosines of vectors [2 B, H]."""
        first, second = grouped(outputs, 2)
        cosine = F.cosine_similarity(first, second)
        return F.mse_loss(cosine, batch["labels"].to(cosine.dtype) / HIGHEST)

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[B] squared differences of the cosines of vectors [2 B, H]."""
        pairs = (grouped(vectors, 2) for vectors in (moved, clean))
        cosines = [F.cosine_similarity(first, second) for first, second in pairs]
        return squared_differences(*cosines)


class Triplet(Similarity):
    """max(|a - p| - |a - n| + MARGIN, 0) of an anchor a, an entailed text p and a contradicted
    text n."""

    def encode(self, examples: Examples) -> Encoded:
        """Three rows per item: anchor, entailed, contradicted.

        Raises:
            ValueError: no pair is labelled as entailed, or none as contradicted.
        """
        texts = [(text,) for three in triplets(examples, self.task.labels) for text in three]
        targets = np.zeros(len(texts) // 3, dtype=np.int64)  # unused: the rows are ordered
        return self.tokenized(texts, targets, np.arange(0, len(texts) + 1, 3))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean triplet loss of vectors [3 B, H]."""
        anchor, positive, negative = grouped(outputs, 3)
        return F.triplet_margin_loss(anchor, positive, negative, margin=MARGIN)


class Contrastive(Triplet):
    """SimCSE on inferences (Gao et al. 2021, equation 5): of the entailed and contradicted texts of
    a batch, the anchor must find its own entailed text."""

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of vectors [3 B, H]."""
        anchor, positive, negative = grouped(outputs, 3)
        return contrastive_loss(anchor, torch.cat((positive, negative)))


class DropoutPairs(Similarity):
    """Unsupervised SimCSE (Gao et al. 2021, equation 4): of the texts of a batch under another
    dropout mask, a text must find itself. Labels are not used."""

    def encode(self, examples: Examples) -> Encoded:
        """Each text twice, as two rows of an item; equal texts once, as they would be negatives of
        each other."""
        distinct = dict.fromkeys(text for texts in examples.texts for text in texts)
        rows = [(text,) for text in distinct for _ in range(2)]
        targets = np.zeros(len(distinct), dtype=np.int64)  # unused: the rows are ordered
        return self.tokenized(rows, targets, np.arange(0, len(rows) + 1, 2))

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """An embedder with dropout.

        Raises:
            ValueError: the network has no dropout.
        """
        model = super().make_model(backbone, adaptation)
        if not _has_dropout(model):
            raise ValueError(
                "siamese: dropout_pairs needs a network with dropout, but two passes of this "
                f"{backbone.family} over a text are equal; choose another objective or network"
            )
        return model

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of vectors [2 B, H]."""
        return contrastive_loss(*grouped(outputs, 2))


class Ranking(Similarity):
    """Of the right choices of a batch, a context must find its own (Henderson et al. 2017): the
    next sentence of a text, or the response in a dialogue. Wrong choices are not used."""

    def encode(self, examples: Examples) -> Encoded:
        """Two rows per item: the context and its right choice; equal choices have equal labels."""
        assert examples.choices is not None, f"{self.task.name} has no choices"
        named = zip(examples.choices, examples.labels, strict=True)
        right = [choices[int(label)] for choices, label in named]
        rows = [(text,) for pair in zip(contexts(examples), right, strict=True) for text in pair]
        numbers = np.unique(right, return_inverse=True)[1].astype(np.int64)
        return self.tokenized(rows, numbers, 2 * np.arange(len(examples) + 1))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of vectors [2 B, H]."""
        first, second = grouped(outputs, 2)
        return ranking_loss(first, second, batch["labels"])


def ranking_loss(inputs: Tensor, responses: Tensor, numbers: Tensor) -> Tensor:
    """Scalar mean of -log(exp(x_i . y_i) / sum_j exp(x_i . y_j)) (Henderson et al. 2017), where j
    skips other responses that equal y_i, which are no wrong ones.

    Args:
        inputs: [B, H] x.
        responses: [B, H] y.
        numbers: [B], the same for equal responses.
    """
    own = torch.eye(len(inputs), dtype=torch.bool, device=inputs.device)
    equal = (numbers[:, None] == numbers) & ~own
    scores = (inputs @ responses.T).masked_fill(equal, -torch.inf)
    return F.cross_entropy(scores, torch.arange(len(inputs), device=inputs.device))


def contrastive_loss(anchors: Tensor, candidates: Tensor) -> Tensor:
    """Scalar mean of -log(exp(cos(h_i, c_i) / t) / sum_j exp(cos(h_i, c_j) / t)) with t =
    TEMPERATURE (Gao et al. 2021, equation 1).

    Args:
        anchors: [B, H].
        candidates: [N, H], the first B of which are the positives of the anchors.
    """
    cosines = F.normalize(anchors, dim=-1) @ F.normalize(candidates, dim=-1).T
    targets = torch.arange(len(anchors), device=anchors.device)
    return F.cross_entropy(cosines / TEMPERATURE, targets)


@torch.no_grad()
def _has_dropout(model: TaskModel) -> bool:
    """Whether a training pass over equal rows gives different vectors; leaves the model in
    evaluation mode, as loading does."""
    ids = torch.arange(SAMPLE[1], device=next(model.parameters()).device).expand(SAMPLE)
    ones = torch.ones_like(ids)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        batch = {"input_ids": ids, "token_type_ids": 0 * ids, "attention_mask": ones}
        vectors = model.train()(batch)
    model.eval()
    return not torch.equal(vectors, vectors[:1].expand_as(vectors))


def triplets(examples: Examples, labels: Sequence[str]) -> list[tuple[str, str, str]]:
    """(anchor, entailed, contradicted) for each entailed pair, in order.

    The contradicted text is the first one of the same anchor; for anchors without any, the
    contradicted texts of other pairs are used in turn.

    Raises:
        ValueError: no pair is labelled as entailed, or none as contradicted.
    """
    names = [labels[int(label)] for label in examples.labels]
    pairs = {
        label: [pair for pair, name in zip(examples.texts, names, strict=True) if name == label]
        for label in (ENTAILED, CONTRADICTED)
    }
    for label, found in pairs.items():
        if not found:
            raise ValueError(f"triplets need pairs labelled {label}, but there are none")
    own = {pair[0]: pair[1] for pair in reversed(pairs[CONTRADICTED])}
    others = [text for _, text in pairs[CONTRADICTED]]
    return [
        (anchor, entailed, own.get(anchor, others[i % len(others)]))
        for i, (anchor, entailed) in enumerate(pairs[ENTAILED])
    ]


SIAMESE: dict[str, type[TaskHead]] = {
    "softmax": Softmax,
    "infersent": InferSent,
    "cosine": Cosine,
    "triplet": Triplet,
    "contrastive": Contrastive,
    "dropout_pairs": DropoutPairs,
    "ranking": Ranking,
}
"""Name (`harness.finetuning.task_chain.Siamese`) to head."""
