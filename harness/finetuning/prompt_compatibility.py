"""Which tasks a network answers in its prompt without training, known at planning time."""

from harness.finetuning.protocol import Protocol
from harness.models import BOUNDED
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.requests import unsupported_request
from harness.tasks.task import Task


def is_written(task: Task, protocol: Protocol) -> bool:
    """Whether the answer to `task` in a prompt is written; others are chosen by likelihood."""
    asks = protocol.answer == "text" and task.kind == "extraction"
    return task.kind == "generation" or asks


def has_positions(run: Pretrain) -> bool:
    """Whether a network has a table of positions, beyond which it cannot read; that of a checkpoint
    without one is read as endless."""
    return bool(run.model.checkpoint) or run.model.family in BOUNDED


def unsupported_prompt(task: Task, protocol: Protocol, run: Pretrain, searches: bool) -> str:
    """Why a network trained by `run` cannot answer `task` in a prompt; empty if it can.

    Args:
        searches: whether it can search with beams.
    """
    if protocol.num_fewshot and not task.train:
        return "the task has no train set to draw demonstrations from"
    if is_written(task, protocol):
        return _unsupported_writing(protocol, run, searches)
    if task.prompt is None or task.kind not in ("classification", "multiple_choice"):
        return "the task has no prompt"
    return unsupported_request(run.objective.components[-1][1])


def _unsupported_writing(protocol: Protocol, run: Pretrain, searches: bool) -> str:
    if run.representation != "causal":
        return f"answers in prompts are written by causal models, and it is {run.representation}"
    if protocol.num_beams > 1 and not searches:
        return f"a causal {run.model.family} decodes greedily, but num_beams is not 1"
    longest = protocol.max_sequence_length + protocol.max_target_length
    if longest > run.model.max_position and has_positions(run):
        return (
            f"its {run.model.max_position} positions are fewer than the {longest} tokens of a "
            "prompt and an answer"
        )
    return ""
