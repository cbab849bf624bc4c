"""What pretraining and fine-tuning share: a quiet Lightning trainer, and seeds by the step."""

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytorch_lightning as pl
import torch
import transformers
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.plugins.io import TorchCheckpointIO
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor, nn

from harness.core.compute import Compute
from harness.core.errors import MemberError
from harness.core.memory import give_back_freed_memory, keep_freed_memory, trim_freed_memory
from harness.models.cpu_attention import attend_by_products
from harness.models.cpu_layers import replace_layers
from harness.models.position_biases import put_heads_first
from harness.pretraining.distributed import lightning_devices, rank, uses_gpus
from harness.pretraining.unread_inputs import UnreadMasks, UnreadTokens

TRIM_SECONDS = 20.0
CALLBACKS: dict[str, Callable[[], pl.Callback]] = {}
"""Callbacks of plug-ins: each trainer has a new one of each."""


def make_trainer(
    *callbacks: pl.Callback, compute: Compute, loggers: Sequence[Logger] = (), **settings: Any
) -> pl.Trainer:
    """A trainer without progress bars or checkpoints: the stages handle those themselves.

    Args:
        compute: hardware; the trainer has one device, which in a run on several is that of its
            process.
        loggers: receive all that the module logs; it logs sparsely itself.
        settings: further arguments of `pytorch_lightning.Trainer`.
    """
    _silence_libraries()
    cast(Any, rank_zero_only).rank = rank()  # of Lightning's loggers and the callbacks of plug-ins
    return pl.Trainer(
        accelerator=compute.accelerator,
        devices=lightning_devices(compute),
        # Lightning's SLURM environment would refuse some jobs and requeue others.
        plugins=[RankZeroIO(), LightningEnvironment()],
        logger=list(loggers),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            FreedMemory(),
            UnreadTokens(),
            UnreadMasks(),
            *callbacks,
            *(_made(name) for name in CALLBACKS),
        ],
        **settings,
    )


def _made(name: str) -> pl.Callback:
    made: object = CALLBACKS[name]()
    if not isinstance(made, pl.Callback):
        given = type(made).__name__
        raise MemberError(
            f"the callback {name!r} must be a Lightning callback, not {given}", CALLBACKS[name]
        )
    return made


class RankZeroIO(TorchCheckpointIO):
    """Writes checkpoints on rank 0 alone; all take part in collecting them."""

    def save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        """Writes a checkpoint."""
        if rank() == 0:
            super().save_checkpoint(*args, **kwargs)


def choose_kernels(model: nn.Module, compute: Compute) -> None:
    """Has a model compute attention, dropout and GELU as is fastest with these settings."""
    if uses_gpus(compute):
        put_heads_first(model)
    if compute.precision == "bf16-mixed" and not uses_gpus(compute):
        attend_by_products(model)
        replace_layers(model)


class FreedMemory(pl.Callback):
    """Keeps freed memory during training, but gives it back every TRIM_SECONDS: what blocks of
    changing sizes leave between them adds up to gigabytes."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begins to keep it."""
        keep_freed_memory()
        self.trimmed = time.monotonic()

    def on_train_batch_end(self, *args: Any) -> None:
        """Gives it back if the last time is long ago."""
        if time.monotonic() - self.trimmed > TRIM_SECONDS:
            trim_freed_memory()
            self.trimmed = time.monotonic()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keeps it no longer."""
        give_back_freed_memory()

    def on_exception(self, *args: Any) -> None:
        """As at the end."""
        give_back_freed_memory()


def log_figures(module: pl.LightningModule, kind: str = "train", /, **figures: float) -> None:
    """Logs figures as `<kind>/<name>`, for callbacks and for the loggers of the trainer.

    Not by `LightningModule.log`, which takes as long as some updates of a small model, and gives
    them to loggers at the number of updates counted from 0, and again at each later step.
    """
    named = {f"{kind}/{name}": value for name, value in figures.items()}
    metrics = {name: torch.tensor(value) for name, value in named.items()}
    module.trainer.callback_metrics.update(metrics)
    for logger in module.loggers:
        logger.log_metrics(named, step=module.global_step)


def moved(batch: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """A batch of tensors by name on a device, without waiting for those in page-locked memory.
    Lightning's own way searches nested values for tensors, which takes 1 ms."""
    return {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}


def torch_seed(*key: int) -> int:
    """The seed of a torch generator from the elements of a NumPy SeedSequence."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])


def seed_torch(device: torch.device, *key: int) -> None:
    """Seeds the generators that dropout and initial weights on `device` draw from.

    torch.manual_seed would also queue a call, with its stack, for each kind of accelerator that is
    absent: half a millisecond at every step, and memory.

    Args:
        key: as of `torch_seed`.
    """
    seed = torch_seed(*key)
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def _silence_libraries() -> None:
    """Suppresses what the libraries report of every run; their errors stay."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for message in (
        "GPU available but not used",  # accelerator: cpu
        "does not have many workers",
        "no `val_dataloader`",
        "isinstance.treespec",
        "sync_dist=True",  # what is logged is that of all ranks already
    ):
        warnings.filterwarnings("ignore", message=f".*{message}.*")
