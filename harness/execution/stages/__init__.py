"""What each stage does: artifacts in, artifacts out."""

from collections.abc import Callable

from harness.execution.stages.finetune import finetune
from harness.execution.stages.job import Job, Metrics
from harness.execution.stages.pretrain import continued, loss, pretrain, probe, tokenizer, tokens
from harness.execution.stages.search import trial, tune
from harness.execution.stages.train_tasks import learn

STAGES: dict[str, Callable[[Job], Metrics]] = {
    "tokenizer": tokenizer,
    "tokens": tokens,
    "pretrain": pretrain,
    "continued": continued,
    "loss": loss,
    "probe": probe,
    "trial": trial,
    "tune": tune,
    "finetune": finetune,
    "learn": learn,
}
