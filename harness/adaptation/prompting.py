"""Pretrained models asked in words, without training."""

from pathlib import Path

from harness.adaptation import Protocol
from harness.adaptation.baselines import Predictor
from harness.tasks.loading import Examples
from harness.tasks.task import Task


def prompted(
    model: Path,
    tokenizer: Path,
    task: Task,
    protocol: Protocol,
    train: Examples | None,
    seed: int,
) -> Predictor:
    """The answer whose words are likeliest in the task's prompt, after `protocol.shots` solved
    examples of `train`, drawn by `seed`."""
    raise NotImplementedError
