"""What each stage does: artifacts in, artifacts out."""

from collections.abc import Callable

from harness.stages.finetuning import finetune
from harness.stages.job import Job, Metrics
from harness.stages.learning import learn
from harness.stages.pretraining import continued, loss, pretrain, probe, tokenizer, tokens
from harness.stages.searching import trial, tune

__all__ = [
    "STAGES",
    "Job",
    "Metrics",
    "finetune",
    "learn",
    "pretrain",
    "probe",
    "tokenizer",
    "tokens",
    "trial",
    "tune",
]

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
