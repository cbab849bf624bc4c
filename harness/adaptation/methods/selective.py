"""Full fine-tuning, and that of a part of the network."""

from harness.adaptation.adaptation import Full, Selective
from harness.adaptation.model import TaskModel


def full(model: TaskModel, adaptation: Full) -> None:
    """Trains every parameter."""


def selective(model: TaskModel, adaptation: Selective) -> None:
    """Trains the parts that are asked for, and the head."""
    raise NotImplementedError
