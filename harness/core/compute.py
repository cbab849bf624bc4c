"""Compute settings: hardware, memory and logging, which may differ between machines."""

from typing import Literal

from pydantic import Field

from harness.core.config import ConfigModel


class Compute(ConfigModel):
    """Hardware, memory and logging. Only `precision` changes results beyond rounding errors, so
    only it is part of stage keys."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """Lightning accelerator; `auto` takes a GPU if there is one."""
    devices: Literal[1] = 1
    """Devices of one stage; several stages run in parallel with `harness run --jobs`."""
    strategy: Literal["auto"] = "auto"
    """Lightning strategy for the devices of one stage."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of one stage. Null takes OMP_NUM_THREADS if it is set, else all cores with a GPU
    and 1 without: stages in parallel are faster than threads."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """Lightning precision of pretraining."""
    micro_batch_tokens: int | None = Field(default=None, ge=8)
    """Tokens in one forward pass, padding included; larger batches accumulate gradients. Null takes
    65,536 on a GPU and 8,192 elsewhere, and halves it when memory runs out."""
    compile: bool = False
    """Whether to use torch.compile in pretraining: slow to start, fast on a GPU."""
    score_every_epoch: bool = False
    """Whether fine-tuning scores the hold-out after every epoch, for a logged curve, where the
    protocol does not do so anyway. It costs time and leaves the results as they are."""
    checkpoint_interval_seconds: float = Field(default=20.0, ge=0)
    """Minimum time between checkpoints of pretraining."""
    max_checkpoint_overhead: float = Field(default=0.05, gt=0)
    """Maximum share of the time spent on saving; checkpoints become less frequent to keep it."""
    loggers: tuple[str, ...] = ("mlflow",)
    """Lightning loggers of the training stages: mlflow (live metrics in the study's MLflow
    experiment), tensorboard, wandb, csv, and those of plug-ins."""


DEFAULT_COMPUTE = Compute()
