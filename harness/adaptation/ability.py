"""What a pretrained model can do at all, known before anything is spent."""

from harness.adaptation import Adaptation, Protocol, baselines
from harness.asking import obstacle as asking_obstacle
from harness.models import FAMILIES, checkpoint_files
from harness.recipes import Pretrain
from harness.tasks.task import Task

WRITING = ("causal", "prefix", "encoder_decoder")
"""Readings from left to right, one token after the other."""


def in_words(task: Task, protocol: Protocol) -> bool:
    """Whether `task` is answered with a text; where nothing is trained (similarity), never."""
    asked = protocol.answer == "text" and task.kind != "similarity"
    return task.kind == "generation" or asked


def can_search(family: str, reading: str) -> bool:
    """Whether texts are written by transformers' search, which keeps to a network's own reading: of
    a checkpoint whichever it has."""
    own = FAMILIES[family].representations
    own = own if FAMILIES[family].kind == "checkpoint" else own[:1]
    return reading in WRITING and reading in own


def obstacle(task: Task, protocol: Protocol, adaptation: Adaptation, run: Pretrain) -> str:
    """Why a model pretrained by `run` cannot do `task`; empty if it can."""
    if FAMILIES[run.model.family].kind == "baseline":
        return baselines.obstacle(run.model.family, task)
    if not adaptation.trains:
        return _asked(task, protocol, run)
    if in_words(task, protocol):
        return _writes(protocol, adaptation, run)
    return ""


def _asked(task: Task, protocol: Protocol, run: Pretrain) -> str:
    if task.prompt is None or task.kind not in ("classification", "multiple_choice"):
        return "the task has no prompt"
    if protocol.shots and not task.train:
        return "the task has no train set to draw solved examples from"
    return asking_obstacle(run.objective.components[-1][1])


def _family(run: Pretrain) -> str:
    """Of a checkpoint that is a network of our own, its family here."""
    name = run.model.checkpoint
    folder = checkpoint_files.found(name, run.model.revision) if name else None
    return (checkpoint_files.own_family(folder) if folder else "") or run.model.family


def _writes(protocol: Protocol, adaptation: Adaptation, run: Pretrain) -> str:
    reading, family = run.representation, _family(run)
    if reading not in WRITING:
        return f"it writes no text, for it is read {reading}"
    if adaptation.kind == "frozen":
        return "its weights are frozen, and a task that is answered in words has no head to train"
    if protocol.num_beams > 1 and not can_search(family, reading):
        return f"a {family} read {reading} writes without a search, but num_beams is not 1"
    lengths = protocol.max_sequence_length, protocol.max_target_length
    longest = max(lengths) if reading == "encoder_decoder" else sum(lengths)
    if longest > run.model.max_position:
        return (
            f"its {run.model.max_position} positions are fewer than the {longest} tokens of a "
            "source and a target"
        )
    return ""
