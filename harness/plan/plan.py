"""The plan of an experiment: its stages, and the runs that results are read from."""

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.core.counting import number_of
from harness.experiment.arms import Arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.space import parameters, space_text
from harness.finetuning.search.sweep import Sweep
from harness.models.checkpoints import files
from harness.plan.costs import Cost, is_small
from harness.plan.display import plan_html, plan_text
from harness.plan.stage_kinds import STAGE_KINDS

CHOSEN = "chosen"
"""Role of the search of pretraining settings among the parents of the runs that have them."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A unit of work, identified by a hash of everything that can change its result."""

    kind: str
    """A name in `STAGE_KINDS`."""
    key: str
    label: str
    """Arm, task and seeds in words."""
    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    parents: Mapping[str, str]
    """Role (tokenizer, tokens, pretrain, tune, ...) to the key of a stage."""
    flops: float
    """Estimate, for the remaining time and the order of execution."""


@dataclass(frozen=True, slots=True)
class FinetuneRun:
    """The fine-tuning of an arm on a task with a pair of seeds."""

    arm: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str
    pretrain_fraction: float = 1.0
    """Share of the pretraining updates after which the fine-tuned weights were saved."""


@dataclass(frozen=True)
class ProbeRun:
    """A probe of a pretrained model."""

    arm: str
    probe: str
    pretrain_seed: int
    key: str
    pretrain_fraction: float = 1.0
    """Share of the pretraining updates after which the weights were saved."""


@dataclass(frozen=True)
class SequentialScore:
    """The score on a task after sequential fine-tuning on this or a later task."""

    arm: str
    after_task: str
    task: str
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class RetainedLoss:
    """The pretraining loss of a model during sequential fine-tuning."""

    arm: str
    after_task: str
    """The last task trained on; empty before the first."""
    pretrain_seed: int
    finetune_seed: int
    key: str


@dataclass(frozen=True)
class ContinuedRun:
    """Continued pretraining of an arm before a task, and the stages that measure losses before and
    after it. Runs that tasks share have equal keys."""

    arm: str
    task: str
    step: int
    """Index among the continued runs of the arm, from 0."""
    corpus: str
    """Label of its text."""
    pretrain_seed: int
    key: str
    """Its stage, which also measures the loss on its own held-out text after it."""
    cost: Cost
    loss_before: str | None
    """Stage that measures the same loss before it; null for models that predict no tokens
    (replaced-token detection)."""
    pretrain_loss_before: str | None
    """Stage that measures the loss before it on the held-out text of pretraining; null for
    checkpoints, which come without text."""
    pretrain_loss_after: str | None
    """The same after it."""


@dataclass(frozen=True)
class Plan:
    """Everything that an experiment computes."""

    declaration: Declaration
    stages: Mapping[str, Stage]
    """Key to stage, parents before children."""
    finetune_runs: tuple[FinetuneRun, ...]
    pretrain_keys: Mapping[tuple[str, int], str]
    """(arm, pretraining seed) to the key of the pretraining stage."""
    costs: Mapping[str, Cost]
    """Arm to the cost of pretraining one seed."""
    differences: Mapping[str, Mapping[str, Any]]
    """Dotted path to {arm: value}, for every field in which arms differ."""
    declared: frozenset[str]
    """Paths of `differences` that an axis sets; the others follow from a varied recipe."""
    probe_runs: tuple[ProbeRun, ...] = ()
    sequential_scores: tuple[SequentialScore, ...] = ()
    """Scores of arms with sequential fine-tuning: after each task, on it and the earlier ones."""
    retained_losses: tuple[RetainedLoss, ...] = ()
    """Pretraining losses of the same arms, before the first task and after each."""
    continued_runs: tuple[ContinuedRun, ...] = ()
    unsupported: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(arm, task) to the reason why the arm does not support the task; such pairs have no run."""
    vocab_sizes: Mapping[str, int] = field(default_factory=dict)
    """Arm to the entries that its tokenizer has learned, with which `costs` are counted; without
    arms whose tokenizer is not known yet, and without checkpoints."""
    corpus_tokens: Mapping[str, int] = field(default_factory=dict)
    """Arm to the tokens of its training text; without arms whose text is not tokenized yet."""
    unknown_shares: Mapping[str, float] = field(default_factory=dict)
    """Arm to the share of unknown tokens in its training text, or in that of its continued
    pretraining if it is larger there; without arms whose text is not tokenized yet."""

    @property
    def has_small_networks(self) -> bool:
        """Whether all networks are small (`harness.plan.costs.is_small`)."""
        return all(is_small(arm.pretrain) for arm in self.arms)

    @property
    def experiment(self) -> Experiment:
        """The experiment as declared."""
        return self.declaration.experiment

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms of the grid."""
        return self.declaration.arms

    @property
    def searches(self) -> dict[str, Sweep]:
        """Arm to the search of its fine-tuning settings, of the arms that have one."""
        return {arm.name: arm.sweep for arm in self.arms if arm.sweep.trials}

    @property
    def first_pretrain_keys(self) -> dict[str, str]:
        """Arm to the key of the pretraining stage of its first seed."""
        found: dict[str, str] = {}
        for (arm, _), key in self.pretrain_keys.items():
            found.setdefault(arm, key)
        return found

    @property
    def pretrain_searches(self) -> dict[str, str]:
        """Arm to the key of the stage that selects its pretraining settings, of the arms that have
        one."""
        found = {}
        for (arm, _), key in self.pretrain_keys.items():
            if CHOSEN in self.stages[key].parents:
                found[arm] = self.stages[key].parents[CHOSEN]
        return found

    @property
    def search_of_arms(self) -> dict[str, PretrainSearch]:
        """Arm to the search of pretraining settings in the space of its optimizer."""
        return {arm.name: arm.pretrain_search for arm in self.arms if arm.pretrain_search}

    @property
    def searched(self) -> list[str]:
        """The hyperparameters of all searches."""
        spaces = (parameters(sweep.space) for sweep in self.searches.values())
        return list(dict.fromkeys(name for space in spaces for name in space))

    @property
    def search_line(self) -> str:
        """The searches as text, with the space of each arm if they differ; empty if there is
        none."""
        arms: dict[str, list[str]] = {}
        for arm, sweep in self.searches.items():
            arms.setdefault(space_text(sweep.space) or "nothing of its own", []).append(arm)
        if not arms:
            return ""
        label = next(iter(self.searches.values())).label
        texts = [f"{', '.join(names)}: {text}" for text, names in arms.items()]
        return f"{label}: {'; '.join(texts if len(arms) > 1 else arms)}"

    @property
    def unsupported_lines(self) -> list[str]:
        """One line for each group of arms that do not support the same tasks for the same
        reason."""
        tasks: dict[tuple[str, str], list[str]] = {}
        for (arm, task), why in self.unsupported.items():
            tasks.setdefault((arm, why), []).append(task)
        arms: dict[tuple[str, str], list[str]] = {}
        num_tasks = len(self.experiment.evaluate.chosen)
        for (arm, why), names in tasks.items():
            which = ", ".join(names) if len(names) < num_tasks else "any task"
            arms.setdefault((which, why), []).append(arm)
        return [
            f"{', '.join(group)} cannot do {which}: {why}" for (which, why), group in arms.items()
        ]

    @property
    def checkpoints_to_fetch(self) -> list[str]:
        """The ids of checkpoints on the Hub that are not on this machine."""
        models = [arm.pretrain.model for arm in self.arms]
        named = {(one.checkpoint, one.revision) for one in models if one.checkpoint}
        return sorted(name for name, at in named if files.found(name, at) is None)

    def to_compute(self, finished: Container[str]) -> list[Stage]:
        """The results that are not finished and the unfinished stages they depend on, parents
        first.

        Args:
            finished: keys of finished stages.
        """
        stages = self.stages
        wanted = {
            key
            for key, stage in stages.items()
            if key not in finished and STAGE_KINDS[stage.kind].is_result
        }
        for key in reversed(list(stages)):
            if key in wanted:
                parents = stages[key].parents.values()
                wanted |= {parent for parent in parents if parent not in finished}
        return [stage for key, stage in stages.items() if key in wanted]

    def continued_runs_of(self, arm: str) -> list[ContinuedRun]:
        """The continued runs of an arm, for all pretraining seeds."""
        return self._continued_runs.get(arm, [])

    @cached_property
    def _continued_runs(self) -> dict[str, list[ContinuedRun]]:
        runs: dict[str, list[ContinuedRun]] = {}
        for run in self.continued_runs:
            runs.setdefault(run.arm, []).append(run)
        return runs

    def total_continued_cost(self, arm: str) -> Cost | None:
        """The cost of all continued runs of an arm for one pretraining seed; null if it has none. A
        sum with an unknown term is null."""
        runs = self.continued_runs_of(arm)
        if not runs:
            return None
        first = runs[0].pretrain_seed
        costs = list({run.key: run.cost for run in runs if run.pretrain_seed == first}.values())

        def total(name: str) -> Any:
            terms = [getattr(cost, name) for cost in costs]
            return None if None in terms else sum(terms)

        return Cost(total("steps"), total("tokens"), costs[0].parameters, total("flops"))

    @property
    def stages_line(self) -> str:
        """The number of stages, and that of each kind: `3 stages: 1 tokenizer, ...`."""
        counts = Counter(stage.kind for stage in self.stages.values())
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in STAGE_KINDS if counts[kind])
        return f"{number_of(len(self.stages), 'stage')}: {kinds}"

    def __repr__(self) -> str:
        arms = ", ".join(arm.name for arm in self.arms)
        return f"<Plan {self.experiment.name}: arms {arms}; {self.stages_line}>"

    def __str__(self) -> str:
        """What `print` shows: expected differences, arms with their costs, what differs."""
        return plan_text(self.experiment, self.stages_line, self.costs, self.differences)

    def _repr_html_(self) -> str:
        """What a notebook shows: expected differences, arms with their costs, what differs."""
        return plan_html(self.experiment, self.stages_line, self.costs, self.differences)
