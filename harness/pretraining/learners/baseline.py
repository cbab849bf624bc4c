"""Baselines: nothing is pretrained."""

from harness.pretraining.learners.learner import Answers, Learner
from harness.pretraining.objectives.loader import TensorBatch


class Baseline(Learner):
    """Has nothing to learn before its task; what it leaves is the note of what it is."""

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        return {}
