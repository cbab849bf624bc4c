"""Continuous bag of words (Mikolov et al. 2013, section 3.1)."""

from typing import cast

from harness.models.static import StaticVectors
from harness.objectives.feeding import TensorBatch
from harness.paradigms.learner import Answers, Learner, gather


class Window(Learner):
    """The mean of the neighbours' vectors names the token between them."""

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        network = cast(StaticVectors, self.backbone.network)
        context = network.context(batch["input_ids"], batch.get("attention_mask"))
        logits = self.backbone.token_logits(gather(context, batch["positions"]))
        return {"token": (logits, batch["targets"])}
