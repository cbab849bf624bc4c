"""The tasks of one run on one network: batches, model and loss. A single task is the case K = 1.

Shapes: K tasks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from harness.core.files import usual_mode
from harness.finetuning.auxiliary_batches import HOLDOUT, auxiliary_batches, prefixed
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, TrainBatches
from harness.finetuning.protocol import Finetune
from harness.finetuning.soft_targets import TEACHER, SoftTargets
from harness.finetuning.task_chain import Multitask
from harness.finetuning.task_model import TaskModel
from harness.pretraining.objectives.vocabulary import Vocabulary

Loss = Callable[[Tensor, Batch], Tensor]
"""(outputs of the model for a batch, batch) to the scalar mean loss."""
TASK = "task"
"""Key of a batch: the index of its task."""
ORDER = 1
"""Key of the random stream that draws the order of the tasks."""
BACKBONE = "backbone."
"""Prefix of the backbone's parameters in a task model."""


@dataclass(frozen=True)
class TaskData:
    """A task with its encoded training examples."""

    head: TaskHead
    train: Encoded
    soft_targets: SoftTargets | None = None
    """Of its examples; null: it is learned from labels."""
    holdout: Encoded | None = None
    """Examples of train that are not trained on, by which weights of auxiliary objectives are
    learned; null: none are."""


def mixing_shares(sizes: Sequence[int], mixing: Multitask) -> np.ndarray:
    """[K] probability of each task with `sizes` examples (Raffel et al. 2020, section 3.5.2)."""
    counted = np.minimum(sizes, mixing.max_examples or np.inf)
    power = {"proportional": 1.0, "equal": 0.0, "temperature": 1 / mixing.temperature}
    rates = counted ** power[mixing.mixing]
    return np.asarray(rates / rates.sum())


class MultitaskBatches(IterableDataset[Batch]):
    """As many batches as the tasks have one by one; a function of the data and the seed.

    A task drawn more often than it has batches is reshuffled and repeated; a task drawn less often
    is not read to its end.
    """

    def __init__(
        self, tasks: Sequence[TaskData], finetune: Finetune, mixing: Multitask, seed: int
    ) -> None:
        self.tasks = tasks
        self.parts = [TrainBatches(one.train, finetune, one.head.collate, seed) for one in tasks]
        self.shares = mixing_shares([one.train.num_items for one in tasks], mixing)
        self.num_steps = sum(part.num_steps for part in self.parts)
        rng = np.random.default_rng([seed, ORDER])
        self.indices = rng.choice(len(tasks), size=self.num_steps, p=self.shares)
        """[num_steps] index of the task of each update."""
        self.auxiliary, self.seed = finetune.auxiliary, seed
        self.vocabularies = [Vocabulary.of(one.head.tokenizer) for one in tasks if self.auxiliary]
        self.held_out = [
            TrainBatches(one.holdout, finetune, one.head.collate, seed) if one.holdout else None
            for one in tasks
        ]

    def __iter__(self) -> Iterator[Batch]:
        streams = [_endless(part) for part in self.parts]
        held_out = [_endless(part) if part else None for part in self.held_out]
        for step, index in enumerate(self.indices):
            task, others = self.tasks[index], held_out[index]
            items = next(streams[index])
            batch = task.head.collate(task.train, items)
            if self.auxiliary:
                vocabulary, seed = self.vocabularies[index], (self.seed, step)
                batch |= auxiliary_batches(batch, self.auxiliary, vocabulary, seed)
            if task.holdout and others:
                batch |= prefixed(HOLDOUT, task.head.collate(task.holdout, next(others)))
            if task.soft_targets:
                batch[TEACHER] = torch.from_numpy(task.soft_targets.outputs[items])
            yield batch | {TASK: torch.tensor(index)}


def _endless(part: TrainBatches) -> Iterator[np.ndarray]:
    for epoch in count():
        yield from part.order(epoch)


class MultitaskModel(TaskModel):
    """One backbone with a head for each of K tasks; a batch holds the index of its task."""

    def __init__(self, parts: Sequence[TaskModel], mixing: Multitask) -> None:
        super().__init__()
        self.backbone = parts[0].backbone
        self.parts = nn.ModuleList(parts)
        # Several tasks are trained whole, from the first epoch.
        self.unfreezing = {f"parts.0.{name}": n for name, n in parts[0].unfreezing.items()}
        self.log_variances: nn.Parameter | None = None
        if mixing.loss_weights == "uncertainty":
            self.log_variances = nn.Parameter(torch.zeros(len(parts)))

    def part(self, index: int) -> TaskModel:
        """The backbone with the head of one task."""
        return cast(TaskModel, self.parts[index])

    def _part(self, batch: Batch) -> TaskModel:
        return self.part(int(batch[TASK]))

    def states(self, batch: Batch) -> list[Tensor]:
        """As the model of the batch's task: [B, T, H] for each order of the texts."""
        return self._part(batch).states(batch)

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """As the model of the batch's task, with its shape, such as [B, C]."""
        return self._part(batch).outputs(batch, states)

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """As the model of the batch's task: a scalar []."""
        return self._part(batch).next_token_loss(batch, states)

    def token_loss(self, batch: Batch, representation: str) -> Tensor:
        """As the model of the batch's task: a scalar []."""
        return self._part(batch).token_loss(batch, representation)


def multitask_loss(
    heads: Sequence[TaskHead], log_variances: Tensor | None, outputs: Tensor, batch: Batch
) -> Tensor:
    """Scalar loss of a batch's task, weighted if variances are learned.

    With noise variance exp(s), a loss L becomes exp(-s) L + s / 2 for classes, and
    exp(-s) L / 2 + s / 2 for values (Kendall et al. 2018, equations 5 and 10).

    Args:
        heads: of the K tasks.
        log_variances: [K] s of each task; null: not learned.
        outputs: of the model for `batch`, as the task's head takes them.
    """
    index = int(batch[TASK])
    head = heads[index]
    loss = head.loss(outputs, batch)
    if log_variances is None:
        return loss
    s = log_variances[index]
    factor = 0.5 if head.task.kind == "regression" else 1.0
    return factor * torch.exp(-s) * loss + s / 2


def multitask_divergences(
    heads: Sequence[TaskHead], moved: Tensor, clean: Tensor, batch: Batch
) -> Tensor:
    """[N] differences of the decisions of a batch's task (`TaskHead.divergences`)."""
    return heads[int(batch[TASK])].divergences(moved, clean, batch)


def save_head(model: TaskModel, path: Path) -> None:
    """Writes the weights of `model` outside its backbone; none for answers in words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = model.state_dict().items()
    save_file({n: w.contiguous() for n, w in weights if not n.startswith(BACKBONE)}, path)
    usual_mode(path)


def load_head(model: TaskModel, path: Path) -> None:
    """Loads weights written by `save_head` into `model`.

    Raises:
        ValueError: the weights belong to another kind of head.
    """
    found = load_file(path)
    expected = {name for name in model.state_dict() if not name.startswith(BACKBONE)}
    if expected != set(found):
        raise ValueError(
            f"{path.name} must hold {', '.join(sorted(expected))}, but holds "
            f"{', '.join(sorted(found))}"
        )
    model.load_state_dict(found, strict=False)
