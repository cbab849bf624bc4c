"""What a pretrained model can do at all, known before anything is spent."""

from harness.adaptation import Protocol
from harness.asking import obstacle as asking_obstacle
from harness.models import FAMILIES
from harness.recipes import Pretrain
from harness.tasks.task import Task

WRITING = ("causal", "prefix", "encoder_decoder")
"""Readings from left to right, one token after the other."""


def obstacle(task: Task, protocol: Protocol, adaptation: str, run: Pretrain) -> str:
    """Why a model pretrained by `run` cannot do `task`; empty if it can."""
    if FAMILIES[run.model.family].kind == "baseline":
        return ""
    if adaptation == "prompt":
        return _asked(task, run)
    if task.kind == "generation" or protocol.answer == "text":
        return _writes(run)
    return ""


def _asked(task: Task, run: Pretrain) -> str:
    if task.prompt is None:
        return "the task has no prompt"
    return asking_obstacle(run.objective.components[-1][1])


def _writes(run: Pretrain) -> str:
    if run.representation not in WRITING:
        return f"it writes no text, for it is read {run.representation}"
    return ""
