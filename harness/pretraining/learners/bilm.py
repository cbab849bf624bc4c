"""A bidirectional LM: one language model per direction (Peters et al. 2018, section 3.1)."""

from harness.pretraining.learners.learner import Learner, Predictions, gather, network_inputs
from harness.pretraining.objectives.loader import TensorBatch


class BiLM(Learner):
    """Predicts the next token from the forward half of a state, the previous one from the other."""

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of the next tokens (`token`) and of the previous ones (`backward`)."""
        states = self.backbone(**network_inputs(batch)).last_hidden_state
        forward, backward = states.chunk(2, dim=-1)
        ahead = gather(forward, batch["positions"])
        back = gather(backward, batch["backward_positions"])
        return {
            "token": (self.backbone.token_logits(ahead), batch["targets"]),
            "backward": (self.backbone.token_logits(back), batch["backward_targets"]),
        }
