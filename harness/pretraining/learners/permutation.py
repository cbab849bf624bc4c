"""Prediction in a random order of the tokens (Yang et al. 2019, sections 2.2 and 2.3).

Shapes: B sequences, T tokens, P columns to predict, H hidden size, M predictions.
"""

from torch import Tensor
from torch.nn import functional as F

from harness.pretraining.learners.learner import Answers, Learner, gather
from harness.pretraining.objectives.loader import TensorBatch

READ = ("input_ids", "attention_mask", "token_type_ids")


def perm_mask(order: Tensor, chosen: Tensor) -> Tensor:
    """[B, T, T] float, 1 where position i (rows) must not see position j (columns).

    Of the tokens to predict, position i sees those that stand before it in the order, and never
    itself; the order of all other positions is -1, so that they see none of them. The content
    stream adds to each position itself. As in transformers'
    `DataCollatorForPermutationLanguageModeling`, but for special tokens
    (`harness.pretraining.objectives.transforms.order`).

    Args:
        order: [B, T] place in the order, -1 at positions that are not predicted.
        chosen: [B, T] whether a position is predicted.
    """
    return (chosen[:, None, :] & (order[:, :, None] <= order[:, None, :])).float()


class Permutation(Learner):
    """XLNet's pretraining: two streams, of which the one that does not see its token predicts it.

    The network is kept as it is; a task is fine-tuned on the content stream alone.
    """

    def query_states(self, batch: TensorBatch) -> Tensor:
        """States of the query stream [B, P, H] at the columns `predicted`."""
        inputs = {name: batch[name] for name in READ if name in batch}
        hidden = perm_mask(batch["order"], batch["chosen"])
        mapping = F.one_hot(batch["predicted"], batch["input_ids"].shape[1]).to(hidden.dtype)
        network = self.backbone.network.base_model
        states: Tensor = network(
            **inputs, perm_mask=hidden, target_mapping=mapping
        ).last_hidden_state
        return states

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        states = gather(self.query_states(batch), batch["positions"])
        return {"token": (self.backbone.token_logits(states), batch["targets"])}
