"""Permutation language modelling (Yang et al. 2019, sections 2.2 and 2.3).

Shapes: B sequences, T tokens, P columns to predict, H hidden size, M predictions.
"""

from torch import Tensor
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.pretraining.learners.learner import Predictions, gather, network_inputs
from harness.pretraining.learners.token_learner import TokenLearner, TokenStates
from harness.pretraining.objectives.loader import TensorBatch


def perm_mask(order: Tensor, chosen: Tensor) -> Tensor:
    """[B, T, T] float, 1 where position i (rows) must not see position j (columns).

    Of the targets, position i sees those before it in the order, never itself; other positions have
    order -1 and see no target. In the content stream each position also sees itself. As in
    transformers' `DataCollatorForPermutationLanguageModeling`, except for special tokens (see
    `harness.pretraining.objectives.transforms.order`).

    Args:
        order: [B, T] index in the order, -1 at positions that are not predicted.
        chosen: [B, T] whether a position is predicted.
    """
    return (chosen[:, None, :] & (order[:, :, None] <= order[:, None, :])).float()


def query_states(backbone: Backbone, batch: TensorBatch) -> Tensor:
    """[B, P, H] states of the query stream at the columns `predicted` [B, P]."""
    hidden = perm_mask(batch["order"], batch["chosen"])
    mapping = F.one_hot(batch["predicted"], batch["input_ids"].shape[1]).to(hidden.dtype)
    outputs = backbone.network.base_model(
        **network_inputs(batch), perm_mask=hidden, target_mapping=mapping
    )
    states: Tensor = outputs.last_hidden_state
    return states


class Permutation(TokenLearner):
    """XLNet's two-stream attention: the query stream predicts tokens that it does not see.

    Fine-tuning uses the content stream alone.
    """

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """Of the chosen tokens, in factorisation order."""
        states = gather(query_states(self.backbone, batch), batch["positions"])
        return {"token": (states, batch["targets"])}, {}
