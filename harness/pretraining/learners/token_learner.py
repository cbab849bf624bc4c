"""The base of learners that predict tokens by the token head of their network.

Shapes: M predictions, H hidden size.
"""

import torch
from torch import Tensor

from harness.models.token_heads import LOGITS_AT_ONCE
from harness.pretraining.learners.learner import (
    Learner,
    Predictions,
    Scores,
    correct,
    cross_entropies,
    scores,
)
from harness.pretraining.objectives.loader import TensorBatch

TokenStates = dict[str, tuple[Tensor, Tensor]]
"""Loss name to the states [M, H] that predict tokens, and these tokens [M]."""


class TokenLearner(Learner):
    """Training has the logits of all predictions at once only where they are few, also for the
    accuracy of an update."""

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """The states that predict tokens, and the predictions of other heads, of a batch."""
        raise NotImplementedError

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Logits and targets of every loss of a batch."""
        tokens, others = self.states(batch, component)
        logits = {
            name: (self.backbone.token_logits(states), targets)
            for name, (states, targets) in tokens.items()
        }
        return {**logits, **others}

    def losses(self, batch: TensorBatch, component: int = 0) -> dict[str, Tensor]:
        """Loss name to its sum over the targets [M], a scalar []."""
        tokens, others = self.states(batch, component)
        sums = {name: self.backbone.token_loss(*one) for name, one in tokens.items()}
        return {**sums, **cross_entropies(others)}

    def losses_and_hits(
        self, batch: TensorBatch, component: int = 0
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """As `losses`, and loss name to whether each prediction is correct, [M] bool."""
        tokens, others = self.states(batch, component)
        found = {name: self.backbone.token_loss_and_hits(*one) for name, one in tokens.items()}
        losses = {name: loss for name, (loss, _) in found.items()}
        hits = {name: one for name, (_, one) in found.items()}
        return {**losses, **cross_entropies(others)}, {**hits, **correct(others)}

    @torch.no_grad()
    def scores(self, batch: TensorBatch, component: int = 0) -> Scores:
        """The scores of every loss of a batch, without gradients or the logits of all tokens."""
        tokens, others = self.states(batch, component)
        found = {name: self._scores(*one) for name, one in tokens.items()}
        return {**found, **{name: scores(*one) for name, one in others.items()}}

    def _scores(self, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Of tokens [M] from states [M, H], in parts."""
        rows = max(1, LOGITS_AT_ONCE // self.backbone.network.config.vocab_size)
        parts = zip(states.split(rows), targets.split(rows), strict=True)
        found = [scores(self.backbone.token_logits(part), one) for part, one in parts]
        nats, right = (torch.cat(side) for side in zip(*found, strict=True))
        return nats, right
