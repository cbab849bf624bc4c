"""Baselines: nothing is pretrained."""

from harness.objectives.feeding import TensorBatch
from harness.paradigms.learner import Answers, Learner


class Baseline(Learner):
    """Has nothing to learn before its task; what it leaves is the note of what it is."""

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        return {}
