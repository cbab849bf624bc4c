"""Two language models, one for each direction (Peters et al. 2018, section 3.1)."""

from harness.pretraining.learners.learner import READ, Answers, Learner, gather
from harness.pretraining.objectives.loader import TensorBatch


class BiLM(Learner):
    """The forward half of a state names the next token, the backward half the one before."""

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        inputs = {name: batch[name] for name in READ if name in batch}
        states = self.backbone(**inputs).last_hidden_state
        forward, backward = states.chunk(2, dim=-1)
        ahead = gather(forward, batch["positions"])
        back = gather(backward, batch["backward_positions"])
        return {
            "token": (self.backbone.token_logits(ahead), batch["targets"]),
            "backward": (self.backbone.token_logits(back), batch["backward_targets"]),
        }
