"""What a plan consists of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.experiment.arms import Arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.plan.costs import Cost


@dataclass(frozen=True)
class Stage:
    """A unit of work, identified by the hash of everything that can change its outcome."""

    kind: str
    """A name in `STAGE_KINDS`."""
    key: str
    label: str
    """For people: arm, task and seeds."""
    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    parents: Mapping[str, str]
    """Role (tokenizer, tokens, pretrain, tune, ...) to the key of the stage that fills it."""
    flops: float
    """Estimate, for the remaining time and the order of execution."""


@dataclass(frozen=True)
class FinetuneRun:
    """One fine-tuning run: an arm on a task under two seeds, and its stage."""

    arm: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str
    pretrain_fraction: float = 1.0
    """Share of the pretraining updates behind the weights that are fine-tuned."""


@dataclass(frozen=True)
class ProbeRun:
    """One probe of a pretrained model, and its stage."""

    arm: str
    probe: str
    pretrain_seed: int
    key: str


@dataclass(frozen=True)
class SequentialScore:
    """The score of a task after a later task, or the task itself, was learned; and its stage."""

    arm: str
    after_task: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class RetainedLoss:
    """The pretraining loss of a model that learns task after task, and its stage."""

    arm: str
    after_task: str
    """The task just learned; empty before the first."""
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class ContinuedRun:
    """One run of continued pretraining of an arm before a task, and the stages that hold the losses
    around it. Runs that tasks share have equal keys."""

    arm: str
    task: str
    step: int
    """Number of the run among those of the arm, from 0."""
    corpus: str
    """What it reads, in words."""
    pretrain_seed: int
    key: str
    """Its stage, which holds the loss after it."""
    cost: Cost
    loss_before: str | None
    """Stage with the loss before it on its own held-out text; null for models that predict no
    tokens (replaced-token detection)."""
    pretrain_loss_before: str | None
    """The same on the held-out text of the pretraining, which a checkpoint does not bring."""
    pretrain_loss_after: str | None


@dataclass(frozen=True)
class Plan:
    """Everything an experiment will compute, before anything is spent."""

    declaration: Declaration
    stages: Mapping[str, Stage]
    """Key to stage, parents before children."""
    finetune_runs: tuple[FinetuneRun, ...]
    pretrain_keys: Mapping[tuple[str, int], str]
    """(arm, pretraining seed) to the key of the pretraining stage."""
    costs: Mapping[str, Cost]
    """Arm to the cost of pretraining one seed."""
    differences: Mapping[str, Mapping[str, Any]]
    """Dotted path to {arm: value}, for every field in which the resolved arms differ."""
    declared: frozenset[str]
    """Those of `differences` that an axis sets; the others follow from a varied recipe or name."""
    probe_runs: tuple[ProbeRun, ...] = ()
    sequential_scores: tuple[SequentialScore, ...] = ()
    """Of arms that learn task after task: every task after each step."""
    retained_losses: tuple[RetainedLoss, ...] = ()
    """Of the same arms: the pretraining loss after each step."""
    continued_runs: tuple[ContinuedRun, ...] = ()
    unsupported: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(arm, task) to why the arm cannot do the task; such pairs have no run."""

    @property
    def experiment(self) -> Experiment:
        """The experiment as declared."""
        return self.declaration.experiment

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms of the grid."""
        return self.declaration.arms
