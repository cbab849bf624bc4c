"""A pretraining run that is cut short, to measure what its updates take."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

import pytorch_lightning as pl
import torch
from pytorch_lightning.profilers import Profiler

from harness.core.compute import Compute
from harness.pretraining.distributed import default_micro_batch_tokens
from harness.pretraining.module import CURVE_POINTS, PretrainingModule
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.profilers import synchronise
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import fit, make_feed, make_module
from harness.pretraining.schedule import cut_short
from harness.pretraining.steps import planned_steps

WARMUP = 20
"""Updates before the measured ones: the first allocate memory, and may compile."""
Hook = Callable[[int, int], None]
"""Called with the updates that are done, and all."""


@dataclass
class Course:
    """The end of a short run."""

    module: PretrainingModule
    trainer: pl.Trainer
    begin: float
    ends: dict[int, tuple[float, int]]
    """Updates done to the clock and the tokens at that time."""

    @property
    def seconds(self) -> float:
        """Those of an update after the warmup."""
        return (self._last[0] - self.ends[WARMUP][0]) / (self.module.num_steps - WARMUP)

    @property
    def tokens_per_second(self) -> float:
        """Of the updates after the warmup."""
        (first, before), (last, after) = self.ends[WARMUP], self._last
        return (after - before) / (last - first)

    @property
    def _last(self) -> tuple[float, int]:
        return self.ends[self.module.num_steps]


@dataclass(frozen=True)
class ShortRun:
    """A pretraining run that is cut short and leaves files in a temporary folder alone."""

    spec: Pretrain
    inputs: Mapping[str, Path]
    """Folders of `tokenizer` and `tokens`, and of the runs `init_from` and `teacher` if any."""
    seed: int
    compute: Compute
    work: Path
    """A folder for temporary files."""

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """That of the tokenizer."""
        return Vocabulary.load(self.inputs["tokenizer"])

    def train(self, updates: int, hook: Hook, profiler: Profiler | None = None) -> Course:
        """Trains a new network; `hook` is called after each batch of updates, one of which ends
        with the warmup.

        Raises:
            ValueError: memory runs out, or the text is too small for a batch.
        """
        begin, steps = perf_counter(), WARMUP + updates
        # Weights are kept after the warmup for the sake of the end of a batch of updates.
        schedule = cut_short(self.spec.schedule, steps)
        changes = {"checkpoint_fractions": (WARMUP / steps,), "schedule": schedule}
        short = self.spec.model_copy(update=changes)
        module = make_module(short, self.vocabulary, self.seed, self.inputs, steps)
        if not self.spec.budget.seconds:
            module.curve_every = max(1, planned_steps(self.spec) // CURVE_POINTS)
        tokens = self.compute.micro_batch_tokens or default_micro_batch_tokens(self.compute)
        feed = make_feed(module, self.inputs["tokens"] / "train", self.vocabulary, tokens)
        never = self.compute.model_copy(update={"checkpoint_interval_seconds": math.inf})
        ends: dict[int, tuple[float, int]] = {}

        def report(done: int, total: int, **figures: float) -> None:
            hook(done, total)
            if done in (WARMUP, total):  # more often would keep a GPU waiting
                synchronise()
            ends[done] = perf_counter(), module.tokens

        try:
            trainer = fit(module, feed, self.work / "none", never, report, profiler=profiler)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"compute.micro_batch_tokens must fit into the memory of the device, but is "
                f"{tokens}; set it to {tokens // 2}, as runs do by themselves"
            ) from None
        return Course(module, trainer, begin, ends)
