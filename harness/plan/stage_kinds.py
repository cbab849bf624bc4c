"""The kinds of stages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageKind:
    """Properties of all stages of one kind."""

    version: int
    """Part of every key of the kind; increased when a change of the code changes results."""
    runs_callbacks: bool = True
    """Whether the callbacks of plug-ins can change the result."""
    is_result: bool = True
    """Whether the result itself is wanted; other stages run only if a later stage needs them."""


STAGE_KINDS: dict[str, StageKind] = {
    "tokenizer": StageKind(1, runs_callbacks=False, is_result=False),
    "tokenize": StageKind(2, runs_callbacks=False, is_result=False),
    "pretrain_trial": StageKind(2, is_result=False),
    "tune_pretraining": StageKind(1),
    "pretrain": StageKind(3),
    "continue_pretraining": StageKind(1),
    "held_out_loss": StageKind(1),
    "probe": StageKind(1),
    "train_tasks": StageKind(2, is_result=False),
    "trial": StageKind(2, is_result=False),
    "tune": StageKind(5),
    "finetune": StageKind(4),
}
"""Kind to properties, in the order of the data flow; the functions are in
`harness.execution.stages.STAGES`."""
