"""The stage functions: each reads the files of its parent stages and writes its own."""

from collections.abc import Callable

from harness.execution.stages import finetune, pretrain, pretrain_search, search
from harness.execution.stages.context import Metrics, StageContext

STAGES: dict[str, Callable[[StageContext], Metrics]] = {
    "tokenizer": pretrain.train_tokenizer,
    "tokenize": pretrain.tokenize,
    "pretrain_trial": pretrain_search.pretrain_trial,
    "tune_pretraining": pretrain_search.tune_pretraining,
    "pretrain": pretrain.pretrain,
    "continue_pretraining": pretrain.continue_pretraining,
    "held_out_loss": pretrain.held_out_loss,
    "probe": pretrain.probe,
    "train_tasks": finetune.train_tasks,
    "trial": search.trial,
    "tune": search.tune,
    "finetune": finetune.finetune,
}
"""Kind of stage (as in `harness.plan.stage_kinds.STAGE_KINDS`) to its function."""
