"""The kinds of stage that a plan is made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageKind:
    """What is known of all stages of one kind."""

    version: int
    """Part of every key of the kind; raised when its code computes something else."""
    uses_plugins: bool = True
    """Whether members of plug-ins can change its outcome."""
    is_result: bool = True
    """Whether it is computed for its own sake, not only when a later stage needs it."""


STAGE_KINDS: dict[str, StageKind] = {
    "tokenizer": StageKind(1, uses_plugins=False, is_result=False),
    "tokenize": StageKind(2, uses_plugins=False, is_result=False),
    "pretrain": StageKind(3),
    "continue_pretraining": StageKind(1),
    "held_out_loss": StageKind(1),
    "probe": StageKind(1),
    "train_tasks": StageKind(1, is_result=False),
    "trial": StageKind(1, is_result=False),
    "tune": StageKind(4),
    "finetune": StageKind(3),
}
"""Kind to what is known of it, in the order of the data flow; `harness.execution.stages.STAGES` has
the functions."""
