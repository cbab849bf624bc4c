"""Pretraining that goes on between pretraining and fine-tuning, declared."""

from harness.values import Value


class Continued(Value):
    """A run that goes on from a pretrained model, on other text (Gururangan et al. 2020)."""
