"""Baselines without pretraining."""

from harness.pretraining.learners.learner import Learner, Predictions
from harness.pretraining.objectives.loader import TensorBatch


class Baseline(Learner):
    """A baseline without weights; only its metadata is saved."""

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """None."""
        return {}
