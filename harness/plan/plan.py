"""What a plan consists of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.experiment.arms import Arm
from harness.experiment.experiment import Experiment
from harness.plan.costs import Cost


@dataclass(frozen=True)
class Stage:
    """A unit of work, named by the hash of everything that can change its outcome."""

    kind: str
    key: str
    label: str
    """What a person reads."""
    spec: Mapping[str, Any]
    """What the stage is told, as JSON values."""
    parents: Mapping[str, str]
    """Role (tokenizer, tokens, pretrain, tune) to the key of the stage that fills it."""
    flops: float
    """Estimated FLOPs, for the time estimate and for ordering."""


@dataclass(frozen=True)
class Cell:
    """One fine-tuning run of the grid: an arm and a task under two seeds, and its stage."""

    arm: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str
    checkpoint: float = 1.0
    """Share of the pretraining that the fine-tuned weights have behind them."""


@dataclass(frozen=True)
class Probing:
    """One pretrained model of an arm under a probe, and its stage."""

    arm: str
    probe: str
    pretrain_seed: int
    key: str


@dataclass(frozen=True)
class Rescored:
    """One task of a sequence, scored after a task (`step`) that was learned later or just now."""

    arm: str
    step: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class Retained:
    """The pretraining loss of a network that learns task after task, and its stage."""

    arm: str
    step: str
    """The task just learned; empty before any."""
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class Continuation:
    """One continued run of an arm before a task, and the stages that hold losses around it; runs
    that are shared by tasks have equal keys."""

    arm: str
    task: str
    step: int
    """Number of the run among those of the arm, from 0."""
    corpus: str
    """What it reads, in words."""
    pretrain_seed: int
    key: str
    """Its stage, which tells the loss after it."""
    cost: Cost
    before: str | None
    """Stage with the loss before it on its own held-out text; null where none is told: of models
    that name no tokens (replaced-token detection)."""
    old_before: str | None
    """The same on the held-out text of the pretraining, which a checkpoint does not bring."""
    old_after: str | None


@dataclass(frozen=True)
class Plan:
    """Everything an experiment will do, before anything is spent."""

    experiment: Experiment
    arms: tuple[Arm, ...]
    stages: Mapping[str, Stage]
    """Key to stage, parents before children."""
    cells: tuple[Cell, ...]
    pretrains: Mapping[tuple[str, int], str]
    """(arm, pretraining seed) to the key of its pretraining."""
    costs: Mapping[str, Cost]
    differences: Mapping[str, Mapping[str, Any]]
    """Dotted path to {arm: value}, for every field in which the resolved arms differ."""
    declared: frozenset[str]
    """Those of `differences` that an axis sets; the others follow from a varied recipe or name."""
    probes: tuple[Probing, ...] = ()
    rescored: tuple[Rescored, ...] = ()
    """Of arms that learn task after task: every task after each step."""
    retained: tuple[Retained, ...] = ()
    """Of the same arms: the pretraining loss after each step."""
    continued: tuple[Continuation, ...] = ()
    obstacles: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(arm, task) to why the arm cannot do the task; there is no cell for it."""
