"""Continuous bag of words (Mikolov et al. 2013, section 3.1)."""

from typing import cast

from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.learner import Learner, Predictions, gather
from harness.pretraining.objectives.loader import TensorBatch


class CBOW(Learner):
    """Predicts a token from the mean of the vectors around it."""

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of all tokens of the text."""
        network = cast(StaticVectors, self.backbone.network)
        context = network.context(batch["input_ids"], batch.get("attention_mask"))
        logits = self.backbone.token_logits(gather(context, batch["positions"]))
        return {"token": (logits, batch["targets"])}
