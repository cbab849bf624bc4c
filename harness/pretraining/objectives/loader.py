"""Loading of batches: tensors, micro-batches, and prefetching while the model computes."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from harness.pretraining.distributed import num_ranks, rank
from harness.pretraining.objectives.micro_batches import split
from harness.pretraining.objectives.shares import share
from harness.pretraining.objectives.targets import Batch, count_targets

PREPARED_BATCHES = 16
"""Batches that are prefetched."""

TensorBatch = dict[str, Tensor]
"""The tensors of a micro-batch by name; `harness.pretraining.objectives.targets` lists them with
their shapes."""


class Step(NamedTuple):
    """The batch of one update, split into micro-batches."""

    parts: list[TensorBatch]
    num_tokens: int
    """Tokens of the whole batch before the transform, special tokens included."""
    counts: dict[str, int]
    """Predictions in the whole batch, of all devices, that each loss is averaged over."""
    component: int
    """Index of the mixture component."""


class Feed(IterableDataset[list[Step]]):
    """The remaining steps, in runs of consecutive ones; for a GPU prefetched in a thread.

    On a CPU, a thread that makes batches delays the one that computes by more than it takes (1.1 ms
    instead of 0.3 of 12): after each operation of torch, that one waits for Python's lock.
    """

    def __init__(self, make: Callable[[int], Step], num_steps: int) -> None:
        self.make, self.num_steps = make, num_steps
        self.first: Callable[[], int] = lambda: 0
        """The first step, evaluated when iteration starts."""
        self.length: Callable[[int], int] = lambda step: 1
        """Length of the run that begins with a step, at most PREPARED_BATCHES."""
        self.is_for_gpu = False

    def __iter__(self) -> Iterator[list[Step]]:
        first = self.first()
        steps = self._prefetched(first)
        while run := list(islice(steps, self.length(first))):
            yield run
            first += len(run)

    def _prefetched(self, first: int) -> Iterator[Step]:
        if not self.is_for_gpu:
            yield from map(self.make, range(first, self.num_steps))
            return
        ahead: deque[Future[Step]] = deque()
        with ThreadPoolExecutor(1) as pool:
            for step in range(first, self.num_steps):
                ahead.append(pool.submit(lambda number: pinned(self.make(number)), step))
                if len(ahead) > PREPARED_BATCHES:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()


def to_step(batch: Batch, micro_batch_tokens: int, component: int = 0, seed: int = 0) -> Step:
    """A batch of inputs [B, T] as micro-batches of at most `micro_batch_tokens` positions, or of
    one sequence [1, T]; on several devices, the share of this one.

    Args:
        seed: of the update, for the shares.
    """
    parts = (
        split(batch, micro_batch_tokens)
        if num_ranks() == 1
        else share(batch, micro_batch_tokens, rank(), num_ranks(), seed)
    )
    return Step(
        [to_tensors(part) for part in parts],
        int(batch["num_tokens"].sum()),
        count_targets(batch),
        component,
    )


def to_tensors(batch: Batch) -> TensorBatch:
    """The arrays of a batch as tensors of the same shapes ([B, T], [M])."""
    return {name: torch.from_numpy(array) for name, array in batch.items()}


def to_device(step: Step, device: torch.device) -> Step:
    """A step on a device, without waiting for what is in page-locked memory; `draws`, which the
    program reads, stay, as it would wait for the GPU."""
    parts = [
        {
            name: tensor if name == "draws" else tensor.to(device, non_blocking=True)
            for name, tensor in part.items()
        }
        for part in step.parts
    ]
    return step._replace(parts=parts)


def pinned(step: Step) -> Step:
    """A step in page-locked memory, which is copied to a GPU while the program goes on."""
    parts = [{name: tensor.pin_memory() for name, tensor in part.items()} for part in step.parts]
    return step._replace(parts=parts)
