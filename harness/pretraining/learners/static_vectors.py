"""word2vec: CBOW (Mikolov et al. 2013a) and negative sampling (Mikolov et al. 2013b).

Shapes: B sequences, T tokens, H hidden size, V vocabulary, M predictions, k negative samples.
"""

from typing import cast

import torch
from torch import Tensor

from harness.models.backbone import Backbone
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.learner import Learner, Predictions, gather
from harness.pretraining.objectives.loader import TensorBatch


class CBOW(Learner):
    """Predicts a token from the mean of the vectors around it (Mikolov et al. 2013a, 3.1)."""

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of all tokens of the text."""
        network = cast(StaticVectors, self.backbone.network)
        context = network.context(batch["input_ids"], batch.get("attention_mask"))
        logits = self.backbone.token_logits(gather(context, batch["positions"]))
        return {"token": (logits, batch["targets"])}


class SampledTokens(Learner):
    """Tells each target from k sampled tokens (Mikolov et al. 2013b, equation 4).

    With an input vector v, that of a token (skip-gram) or the mean of its context (CBOW), and the
    output vectors u of the target and u_1 to u_k of the samples, the loss is

        - log sigmoid(u v) - sum_i log sigmoid(- u_i v)

    which is the cross-entropy of 1 + k binary decisions. Losses are means over all of these.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.metric_prefixes = {"sampled": ""}

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of targets (1) and samples (0), [M (1 + k), 2] logits."""
        network = cast(StaticVectors, self.backbone.network)
        tokens = torch.cat((batch["targets"][:, None], batch["negatives"]), 1)
        scores = network.scores(gather(self._inputs(batch), batch["positions"]), tokens)
        of_text = torch.zeros_like(tokens)
        of_text[:, 0] = 1
        logits = torch.stack((torch.zeros_like(scores), scores), -1)
        return {"sampled": (logits.flatten(0, 1), of_text.flatten())}

    def _inputs(self, batch: TensorBatch) -> Tensor:
        """[B, T, H] vectors that predict."""
        network = cast(StaticVectors, self.backbone.network)
        if self.backbone.representation == "cbow":
            return network.context(batch["input_ids"], batch.get("attention_mask"))
        return network.embeddings(batch["input_ids"])
