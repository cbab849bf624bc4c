"""The callback of a pretraining run: checkpoints, kept weights, time, progress."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytorch_lightning as pl

from harness.core.compute import Compute
from harness.core.files import atomic_folder
from harness.pretraining.distributed import agreed, rank
from harness.pretraining.module import PretrainingModule
from harness.pretraining.schedule import checkpoint_steps


class RunCallback(pl.Callback):
    """Saves checkpoints at intervals, atomically, and the weights at the requested fractions;
    measures time; reports progress."""

    def __init__(self, path: Path, compute: Compute, progress: Callable[..., None]) -> None:
        self.path, self.compute, self.progress = path, compute, progress
        self.saved = self.last = 0.0
        self.pause = compute.checkpoint_interval_seconds

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Starts the clock."""
        self.saved = self.last = monotonic()

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        """Measures time, saves what is due, and reports progress."""
        assert isinstance(module, PretrainingModule)
        now = monotonic()
        module.seconds += now - self.last
        module.timed_tokens = module.tokens
        self.last = now
        for share in self._due(module):
            whole = module.whole()
            if rank() == 0:
                folder = self.path.parent / CHECKPOINTS / fraction_name(share)
                with atomic_folder(folder) as draft:
                    whole.learner.save(draft)
        if agreed(now - self.saved >= self.pause):
            self._save(trainer, module)
        figures = {"tokens_per_second": module.tokens / module.seconds}
        if module.curve:
            figures["loss"] = module.curve[-1][2]
        self.progress(trainer.global_step, module.num_steps, **figures)

    def _due(self, module: PretrainingModule) -> list[float]:
        """Requested fractions of the updates that this update completes."""
        shares = module.spec.checkpoint_fractions
        steps = checkpoint_steps(shares, module.num_steps)
        return [
            share for share, step in zip(shares, steps, strict=True) if step == module.global_step
        ]

    def _save(self, trainer: pl.Trainer, module: PretrainingModule) -> None:
        module.check_loss()
        begin = monotonic()
        temporary = self.path.with_suffix(".tmp")
        trainer.save_checkpoint(temporary)
        if rank() == 0:
            temporary.replace(self.path)
        self.saved = monotonic()
        took = self.saved - begin
        self.pause = max(
            self.compute.checkpoint_interval_seconds, took / self.compute.max_checkpoint_overhead
        )


CHECKPOINTS = "checkpoints"
"""Folder of the weights kept after fractions of the updates."""


def fraction_name(share: float) -> str:
    """Folder name of the weights after a fraction of the updates."""
    return f"{share:.6g}"
