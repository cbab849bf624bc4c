"""Several tasks on one network: what is trained, and in which order.

Shapes: K tasks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, TrainBatches
from harness.finetuning.protocol import Finetune
from harness.finetuning.task_chain import Multitask
from harness.finetuning.task_model import TaskModel

PLACE = "task"
"""Name of what a batch says of its task: the place in the list."""
ORDER = 1
"""Sets the draws of tasks apart from other draws with the same seed."""
OF_THE_NETWORK = "backbone."


@dataclass(frozen=True)
class TaskData:
    """A task as it is learned."""

    name: str
    form: TaskHead
    train: Encoded


def shares(sizes: Sequence[int], mixing: Multitask) -> np.ndarray:
    """[K] share of the batches that each task of `sizes` examples gets (Raffel et al. 2020, section
    3.5.2)."""
    counted = np.minimum(sizes, mixing.max_examples or np.inf)
    power = {"proportional": 1.0, "equal": 0.0, "temperature": 1 / mixing.temperature}
    rates = counted ** power[mixing.mixing]
    return np.asarray(rates / rates.sum())


class JointBatches(IterableDataset[Batch]):
    """As many batches as the tasks have together; the seed alone decides the order of the tasks and
    what is in the batches. A task that comes more often than it has batches starts anew, in another
    order; one that comes less often is not read to its end."""

    def __init__(
        self, lessons: Sequence[TaskData], finetune: Finetune, mixing: Multitask, seed: int
    ) -> None:
        self.lessons = lessons
        self.parts = [TrainBatches(one.train, finetune, one.form.collate, seed) for one in lessons]
        self.shares = shares([one.train.num_items for one in lessons], mixing)
        self.num_steps = sum(part.num_steps for part in self.parts)
        dice = np.random.default_rng([seed, ORDER])
        self.places = dice.choice(len(lessons), size=self.num_steps, p=self.shares)
        """[num_steps] place of the task of each update."""

    def __iter__(self) -> Iterator[Batch]:
        streams = [_endless(part) for part in self.parts]
        for place in self.places:
            lesson = self.lessons[place]
            batch = lesson.form.collate(lesson.train, next(streams[place]))
            yield batch | {PLACE: torch.tensor(place)}


def _endless(part: TrainBatches) -> Iterator[np.ndarray]:
    for epoch in count():
        yield from part.order(epoch)


class JointModel(TaskModel):
    """One network, with what answers each of K tasks; a batch says of which task it is."""

    def __init__(self, parts: Sequence[TaskModel], mixing: Multitask) -> None:
        super().__init__()
        self.backbone = parts[0].backbone
        self.parts = nn.ModuleList(parts)
        self.log_variances: nn.Parameter | None = None
        if mixing.loss_weights == "uncertainty":
            self.log_variances = nn.Parameter(torch.zeros(len(parts)))

    def part(self, place: int) -> TaskModel:
        """The network with what answers the task at `place`."""
        return cast(TaskModel, self.parts[place])

    def _part(self, batch: Batch) -> TaskModel:
        return self.part(int(batch[PLACE]))

    def states(self, batch: Batch) -> list[Tensor]:
        return self._part(batch).states(batch)

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        return self._part(batch).outputs(batch, states)

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        return self._part(batch).next_token_loss(batch, states)


class JointLoss:
    """The loss of a batch's task; weighted, if the model has learned variances.

    A loss L with the variance exp(s) of its noise gives exp(-s) L + s / 2 for classes, and half of
    exp(-s) L instead for values (Kendall et al. 2018, equations 5 and 10).
    """

    def __init__(self, forms: Sequence[TaskHead], log_variances: Tensor | None) -> None:
        self.forms, self.log_variances = forms, log_variances

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        place = int(batch[PLACE])
        form = self.forms[place]
        loss = form.loss(outputs, batch)
        if self.log_variances is None:
            return loss
        s = self.log_variances[place]
        factor = 0.5 if form.task.kind == "regression" else 1.0
        return factor * torch.exp(-s) * loss + s / 2


def save_head(model: TaskModel, path: Path) -> None:
    """Writes what `model` has beside its network: of an answer in words nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = model.state_dict().items()
    head = {n: w.contiguous() for n, w in weights if not n.startswith(OF_THE_NETWORK)}
    save_file(head, path)


def load_head(model: TaskModel, path: Path) -> None:
    """Reads what `save_head` wrote into `model`.

    Raises:
        ValueError: it is the head of another kind of model.
    """
    found = load_file(path)
    wanted = {name for name in model.state_dict() if not name.startswith(OF_THE_NETWORK)}
    if wanted != set(found):
        raise ValueError(
            f"{path.name} must hold {', '.join(sorted(wanted))}, but holds "
            f"{', '.join(sorted(found))}"
        )
    model.load_state_dict(found, strict=False)
