"""Prediction of tokens from the states of one network: masked, next, or told by a decoder."""

from collections.abc import Sequence

from harness.models.backbone import Backbone
from harness.objectives import Objective
from harness.objectives.feeding import TensorBatch
from harness.paradigms.heads import PairHead
from harness.paradigms.learner import READ, Answers, Learner, gather


class TokenPrediction(Learner):
    """Masked LM, causal LM, prefix LM and sequence to sequence, with an optional pair loss.

    They differ in what the batch holds and in how the network is read; a mixture reads it anew for
    each of its components.
    """

    def __init__(
        self, backbone: Backbone, objectives: Sequence[Objective], initializer_range: float
    ) -> None:
        super().__init__(backbone)
        self.representations = [objective.representation for objective in objectives]
        self.pair_head = None
        if objectives[0].pair != "none":
            self.pair_head = PairHead(backbone.hidden_size, initializer_range)

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        inputs = {name: batch[name] for name in READ if name in batch}
        states = self.backbone(
            **inputs, representation=self.representations[component]
        ).last_hidden_state
        logits = self.backbone.token_logits(gather(states, batch["positions"]))
        answers = {"token": (logits, batch["targets"])}
        if self.pair_head is not None and "pair_label" in batch:
            answers["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        return answers
