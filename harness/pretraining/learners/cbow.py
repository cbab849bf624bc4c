"""Continuous bag of words (Mikolov et al. 2013, section 3.1)."""

from typing import cast

from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.learner import Answers, Learner, gather
from harness.pretraining.objectives.loader import TensorBatch


class CBOW(Learner):
    """The mean of the neighbours' vectors names the token between them."""

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        network = cast(StaticVectors, self.backbone.network)
        context = network.context(batch["input_ids"], batch.get("attention_mask"))
        logits = self.backbone.token_logits(gather(context, batch["positions"]))
        return {"token": (logits, batch["targets"])}
