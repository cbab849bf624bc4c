"""The stage functions: each reads the files of its parent stages and writes its own."""

from collections.abc import Callable

from harness.execution.stages.context import Metrics, StageContext
from harness.execution.stages.finetune import finetune, train_tasks
from harness.execution.stages.pretrain import (
    continue_pretraining,
    held_out_loss,
    pretrain,
    probe,
    tokenize,
    train_tokenizer,
)
from harness.execution.stages.search import trial, tune

STAGES: dict[str, Callable[[StageContext], Metrics]] = {
    "tokenizer": train_tokenizer,
    "tokenize": tokenize,
    "pretrain": pretrain,
    "continue_pretraining": continue_pretraining,
    "held_out_loss": held_out_loss,
    "probe": probe,
    "train_tasks": train_tasks,
    "trial": trial,
    "tune": tune,
    "finetune": finetune,
}
"""Kind of stage (as in `harness.plan.stage_kinds.STAGE_KINDS`) to its function."""
