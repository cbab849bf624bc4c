"""Learning of one task or several on one network, by the protocol of fine-tuning."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.joint_model import JointBatches, JointLoss, JointModel, TaskData
from harness.finetuning.module import FinetuningModule, prepared_model
from harness.finetuning.protocol import Finetune
from harness.finetuning.task_chain import Multitask
from harness.finetuning.task_model import TaskModel
from harness.pretraining.trainer import make_trainer, seed_torch

FULL = ADAPTATIONS["full"]


@dataclass(frozen=True)
class Learned:
    """What one run gives, for each task in the order given."""

    model: JointModel
    steps: Sequence[int]
    losses: Sequence[float]
    """Mean over the last of the task's updates, as many as one epoch of it has; NaN for none."""
    shares: Sequence[float]

    @property
    def diverged(self) -> bool:
        ends = [end for end, steps in zip(self.losses, self.steps, strict=True) if steps]
        return not np.isfinite(ends).all()


def finetune_jointly(
    model_folder: Path,
    lessons: Sequence[TaskData],
    settings: Finetune,
    mixing: Multitask,
    *,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    compute: Compute = DEFAULT_COMPUTE,
) -> Learned:
    """Trains the network in `model_folder` whole, with a head for each lesson.

    A function of its arguments; with one lesson the same as `harness.finetuning.module.finetune`.
    """
    batches = JointBatches(lessons, settings, mixing, seed)
    model = joint_model(model_folder, lessons, settings, mixing, seed)
    loss = JointLoss([one.form for one in lessons], model.log_variances)
    module = FinetuningModule(model, loss, settings, batches.num_steps, seed)
    module.train()
    hook = _Progress(batches.num_steps, progress)
    trainer = make_trainer(hook, compute=compute, max_epochs=1, gradient_clip_val=1.0)
    trainer.fit(module, DataLoader(batches, batch_size=None))
    losses = torch.stack(module.losses).float().cpu().numpy()
    of_each = [losses[batches.places == place] for place in range(len(lessons))]
    epochs = [part.num_steps // settings.epochs for part in batches.parts]
    ends = [
        float(some[-last:].mean()) if len(some) else float("nan")
        for some, last in zip(of_each, epochs, strict=True)
    ]
    return Learned(model, [len(some) for some in of_each], ends, batches.shares.tolist())


def joint_model(
    folder: Path, lessons: Sequence[TaskData], settings: Finetune, mixing: Multitask, seed: int
) -> JointModel:
    """The network in `folder` with every head as the task alone would begin with it."""
    first = prepared_model(folder, lessons[0].form, FULL, seed, settings)
    parts: list[TaskModel] = [first]
    for lesson in lessons[1:]:
        seed_torch(torch.device("cpu"), seed)
        parts.append(lesson.form.make_model(first.backbone, FULL))
    return JointModel(parts, mixing)


class _Progress(pl.Callback):
    def __init__(self, num_steps: int, progress: Callable[[int, int], None]) -> None:
        self.num_steps, self.progress = num_steps, progress

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, step: int
    ) -> None:
        self.progress(step + 1, self.num_steps)
