"""What each stage does: artifacts in, artifacts out."""

from collections.abc import Callable

from harness.stages.finetuning import finetune, tune
from harness.stages.job import Job, Metrics
from harness.stages.pretraining import pretrain, probe, tokenizer, tokens

__all__ = [
    "STAGES",
    "Job",
    "Metrics",
    "finetune",
    "pretrain",
    "probe",
    "tokenizer",
    "tokens",
    "tune",
]

STAGES: dict[str, Callable[[Job], Metrics]] = {
    "tokenizer": tokenizer,
    "tokens": tokens,
    "pretrain": pretrain,
    "probe": probe,
    "tune": tune,
    "finetune": finetune,
}
