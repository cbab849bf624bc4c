"""Experiment -> Plan: arms, stages with content keys, cost, and the proof of what differs."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from harness.adaptation.ability import obstacle
from harness.budget import planned_steps, tokens_per_step, training_flops_per_step
from harness.corpora import reading as corpus_reading
from harness.corpora.packing import PAIR_FORMATS
from harness.declaration import Declaration, check_data, load
from harness.experiment import ROLES, Arm, Evaluate, Experiment
from harness.models import checkpoint_files, weight_files
from harness.models.counts import count_parameters
from harness.models.flops import forward_flops
from harness.models.training_flops import TRAINING
from harness.objectives.accounting import Lengths
from harness.probes import PROBES
from harness.probes import items as probe_items
from harness.recipes import Pretrain
from harness.tasks import loading as task_loading
from harness.tasks.task import Task
from harness.values import Value

STAGE_VERSIONS = {
    "tokenizer": 1,
    "tokens": 2,
    "pretrain": 3,
    "probe": 1,
    "tune": 3,
    "finetune": 3,
}
"""Raised when the code of a stage changes what it computes; part of every key of that kind."""

MEAN_TASK_TOKENS = 40
"""Tokens of a fine-tuning input, assumed for the time estimate only."""
PROBE_INPUTS, PROBE_TOKENS = 3_000, 12
"""Inputs of each category of a probe and their length, assumed for the time estimate only."""
SUSTAINED_FLOPS = 5e10
"""FLOP/s of one CPU thread at `nano` and `tiny`, assumed for the time estimate only."""


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
class Cost:
    """What pretraining one seed of an arm takes; null where a budget in seconds leaves it open, and
    all of a checkpoint."""

    steps: int | None
    tokens: int | None
    parameters: int | None
    flops: float | None


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
    obstacles: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(arm, task) to why the arm cannot do the task; there is no cell for it."""


def load_plan(path: Path, overrides: Sequence[str] = ()) -> tuple[Declaration, Plan]:
    """Reads, checks and plans an experiment file.

    Raises:
        DeclarationError: the file is wrong or its data is missing; every problem with its line.
    """
    declaration = load(path, overrides)
    check_data(declaration)
    return declaration, make_plan(declaration.experiment, declaration.arms)


def make_plan(experiment: Experiment, arms: Sequence[Arm]) -> Plan:
    """Plans `experiment`, whose grid resolves to `arms`. Reads fingerprints, imports no torch.

    Raises:
        ValueError: a data set is missing, or two arms differ where no axis says so.
    """
    builder = _Builder(experiment)
    for arm in arms:
        builder.add(arm)
    differences = differing_fields(arms)
    declared = frozenset(path for path in differences if _is_declared(path, arms))
    _check_contract(differences, declared, arms)
    return Plan(
        experiment=experiment,
        arms=tuple(arms),
        stages=builder.stages,
        cells=tuple(builder.cells),
        pretrains=builder.pretrains,
        costs={arm.name: pretraining_cost(arm.pretrain) for arm in arms},
        differences=differences,
        declared=declared,
        probes=tuple(builder.probes),
        obstacles=builder.obstacles,
    )


def pretraining_cost(spec: Pretrain) -> Cost:
    """Updates, tokens, parameters of the network and FLOPs of one pretraining run of `spec`."""
    if spec.model.checkpoint:
        return Cost(None, None, None, None)
    parameters = count_parameters(
        spec.model,
        spec.size,
        spec.tokenizer.vocab_size,
        pair_format=spec.packing.format in PAIR_FORMATS,
        representation=spec.representation,
    )
    if spec.budget.seconds:
        return Cost(None, None, parameters, None)
    steps = planned_steps(spec)
    tokens = round(steps * tokens_per_step(spec))
    return Cost(steps, tokens, parameters, steps * training_flops_per_step(spec))


def _expected_flops(spec: Pretrain) -> float:
    """FLOPs of a run, for the time estimate."""
    return pretraining_cost(spec).flops or (spec.budget.seconds or 0.0) * SUSTAINED_FLOPS


class _Builder:
    """Collects the stages of the arms; equal keys are one stage."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.stages: dict[str, Stage] = {}
        self.cells: list[Cell] = []
        self.probes: list[Probing] = []
        self.pretrains: dict[tuple[str, int], str] = {}
        self.obstacles: dict[tuple[str, str], str] = {}
        tasks = experiment.evaluate.chosen
        # Data is read once a plan, and anew by the next: files may change in between.
        self.corpus_fingerprint = cache(corpus_reading.fingerprint)
        self.task_fingerprint = cache(lambda task: task_loading.fingerprint(tasks[task]))
        self.probe_fingerprint = cache(lambda probe: probe_items.fingerprint(PROBES[probe]))

    def add(self, arm: Arm) -> None:
        tokenizer = self._pretrain_stages(arm)
        for name, task in arm.evaluate.chosen.items():
            evaluate = arm.evaluate
            why = obstacle(task, evaluate.protocol, evaluate.adaptation, arm.pretrain)
            if why:
                self.obstacles[arm.name, name] = why
            else:
                self._task_stages(arm, task, tokenizer)
        for probe, seed in itertools.product(arm.evaluate.probes, self._seeds(arm)):
            self._probe_stage(arm, probe, seed, tokenizer)

    def _seeds(self, arm: Arm) -> tuple[int, ...]:
        """Pretraining seeds; a checkpoint was pretrained once."""
        seeds = self.experiment.seeds.pretrain
        return seeds[:1] if arm.pretrain.model.checkpoint else seeds

    def _pretrain_stages(self, arm: Arm) -> str:
        """All that makes an arm's pretrained models; returns the key of their tokenizer."""
        if arm.pretrain.model.checkpoint:
            return self._import(arm)
        tokenizer, tokens = self._data_stages(arm.pretrain)
        for seed in self.experiment.seeds.pretrain:
            self.pretrains[arm.name, seed] = self._pretrain(
                arm.pretrain, arm.name, seed, tokenizer, tokens
            )
        return tokenizer

    def _import(self, arm: Arm) -> str:
        """A checkpoint's tokenizer and network, copied in the form of our own."""
        name, revision = str(arm.pretrain.model.checkpoint), arm.pretrain.model.revision
        folder = checkpoint_files.is_folder(name)
        spec = {
            "checkpoint": {"name": name, "revision": revision},
            "fingerprint": checkpoint_files.fingerprint(name, revision),
        }
        label = name if folder or revision else f"{name}, of which no commit is pinned"
        tokenizer = self._stage("tokenizer", f"of {label}", spec, {})
        key = self._stage("pretrain", f"{label}, imported", spec, {"tokenizer": tokenizer})
        self.pretrains[arm.name, self._seeds(arm)[0]] = key
        return tokenizer

    def _data_stages(self, spec: Pretrain) -> tuple[str, str]:
        fingerprint = self.corpus_fingerprint(spec.corpus)
        data = {"corpus": spec.corpus.model_dump(), "fingerprint": fingerprint}
        algorithm, size = spec.tokenizer.algorithm, spec.tokenizer.vocab_size
        learned = {**data, "tokenizer": spec.tokenizer.model_dump()}
        tokenizer = self._stage("tokenizer", f"{algorithm} {size}", learned, {})
        label = f"{spec.corpus.source} as {algorithm} {size}"
        return tokenizer, self._stage("tokens", label, data, {"tokenizer": tokenizer})

    def _pretrain(self, run: Pretrain, label: str, seed: int, tokenizer: str, tokens: str) -> str:
        """The stage of a run, after those of the runs that it builds on, with the same seed."""
        parents = {"tokenizer": tokenizer, "tokens": tokens}
        for role in ROLES:
            other = getattr(run, role)
            if other:
                about = f"{role} of {label}"
                parents[role] = self._pretrain(other, about, seed, tokenizer, tokens)
        cost = _expected_flops(run)
        content = {"pretrain": _content(run), "seed": seed}
        if run.model.vectors:
            with Path(run.model.vectors).open("rb") as file:
                content["vectors"] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._stage("pretrain", f"{label}, seed {seed}", content, parents, cost)

    def _task_stages(self, arm: Arm, task: Task, tokenizer: str) -> None:
        base = _task_spec(arm.evaluate, task, self.task_fingerprint(task.name))
        cost = _finetuning_flops(arm, task)
        seeds = self.experiment.seeds
        tune: dict[str, str] = {}
        sweep = self.experiment.sweep
        own = arm.pretrain.model.facts.kind != "baseline"
        trained = own and task.train and arm.evaluate.adaptation != "prompt"
        if sweep.trials and trained:
            parents = {
                "pretrain": self.pretrains[arm.name, seeds.pretrain[0]],
                "tokenizer": tokenizer,
            }
            spec = {**base, "sweep": sweep.model_dump()}
            label = f"{arm.name}, {task.name}, {sweep.trials} trials"
            tune["tune"] = self._stage("tune", label, spec, parents, cost * sweep.trials)
        # Else every fine-tuning seed gives the same.
        drawn = trained or (own and arm.evaluate.protocol.shots)
        submitted = {"submission": True} if arm.evaluate.submission and task.test else {}
        # The settings are those chosen for the end of pretraining: a curve of one thing alone.
        shares = () if arm.pretrain.budget.nothing else arm.pretrain.checkpoints
        for pretrain_seed, seed, share in itertools.product(
            self._seeds(arm), seeds.finetune if drawn else seeds.finetune[:1], (*shares, 1.0)
        ):
            parents = {"pretrain": self.pretrains[arm.name, pretrain_seed], "tokenizer": tokenizer}
            label = f"{arm.name}, {task.name}, seeds {pretrain_seed}.{seed}"
            spec = {**base, **submitted, "seed": seed}
            if share < 1:
                label, spec = f"{label}, after {share:.3g}", {**spec, "checkpoint": share}
            key = self._stage("finetune", label, spec, {**parents, **tune}, cost)
            self.cells.append(Cell(arm.name, task.name, pretrain_seed, seed, key, share))

    def _probe_stage(self, arm: Arm, probe: str, seed: int, tokenizer: str) -> None:
        spec = {"probe": probe, "fingerprint": self.probe_fingerprint(probe)}
        parents = {"pretrain": self.pretrains[arm.name, seed], "tokenizer": tokenizer}
        cost = _probe_flops(arm, probe)
        key = self._stage("probe", f"{arm.name}, {probe}, seed {seed}", spec, parents, cost)
        self.probes.append(Probing(arm.name, probe, seed, key))

    def _stage(
        self,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        parents: Mapping[str, str],
        flops: float = 0.0,
    ) -> str:
        key = stage_key(kind, spec, parents)
        self.stages.setdefault(key, Stage(kind, key, label, spec, parents, flops))
        return key


def _content(run: Pretrain) -> dict[str, Any]:
    """What a run is told: the text reaches it through its parents, and the recipe's name changes
    nothing."""
    spec = run.model_dump(exclude={"recipe", "corpus", *ROLES})
    others = {role: getattr(run, role) for role in ROLES}
    return spec | {role: _content(other) if other else None for role, other in others.items()}


def stage_key(kind: str, spec: Mapping[str, Any], parents: Mapping[str, str]) -> str:
    """16 hexadecimal digits over all that can change the outcome: not where local text lies."""
    corpus = spec.get("corpus", {})
    if corpus.get("source") in ("text", "jsonl"):
        corpus = {name: value for name, value in corpus.items() if name != "path"}
        spec = {**spec, "corpus": corpus}
    if "checkpoint" in spec and kind in ("tokenizer", "pretrain"):  # its content is its fingerprint
        spec = {name: value for name, value in spec.items() if name != "checkpoint"}
    if "vectors" in spec:  # their content, which is in the key already
        run = spec["pretrain"]
        spec = {**spec, "pretrain": {**run, "model": {**run["model"], "vectors": None}}}
    if "files" in spec.get("content", {}).get("data", {}):
        spec = {**spec, "content": _without_paths(spec["content"])}
    content = [kind, STAGE_VERSIONS[kind], _without_nulls(spec), parents]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _without_nulls(value: Any) -> Any:
    """Null says the same as a field that is not there: a new field leaves old keys as they are."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


def _without_paths(content: Mapping[str, Any]) -> dict[str, Any]:
    """A task of files without where they lie; the fingerprint is of what is in them."""
    data = content["data"]
    return {**content, "data": {**data, "files": sorted(data["files"])}}


def _task_spec(evaluate: Evaluate, task: Task, fingerprint: str) -> dict[str, Any]:
    return {
        "task": task.name,
        "content": task.content,
        "fingerprint": fingerprint,
        "adaptation": evaluate.adaptation,
        "protocol": evaluate.protocol.model_dump(),
        "finetune": evaluate.finetune.model_dump(),
    }


def _finetuning_flops(arm: Arm, task: Task) -> float:
    protocol = arm.evaluate.protocol
    examples = min(task.train_size, protocol.max_train or task.train_size)
    one = _reading_flops(arm.pretrain, MEAN_TASK_TOKENS)
    return TRAINING * one * examples * arm.evaluate.finetune.epochs


def _probe_flops(arm: Arm, probe: str) -> float:
    one = _reading_flops(arm.pretrain, PROBE_TOKENS)
    return one * PROBE_INPUTS * len(PROBES[probe].categories)


def _reading_flops(run: Pretrain, tokens: int) -> float:
    """FLOPs of one input; of a checkpoint, 2 for each of its weights and each token."""
    if run.model.checkpoint:
        folder = checkpoint_files.found(run.model.checkpoint, run.model.revision)
        return 2.0 * weight_files.num_weights(folder) * tokens
    return forward_flops(
        run.model,
        run.size,
        run.tokenizer.vocab_size,
        Lengths(tokens, target=tokens),
        representation=run.representation,
    )


def differing_fields(arms: Sequence[Arm]) -> dict[str, dict[str, Any]]:
    """Dotted path to {arm: value} for each field whose value is not the same in all arms."""
    flat = {
        arm.name: _own_fields(arm) | dict(flat_fields("evaluate", arm.evaluate)) for arm in arms
    }
    paths = dict.fromkeys(path for fields in flat.values() for path in fields)
    table = {path: {arm: fields.get(path) for arm, fields in flat.items()} for path in paths}
    return {path: row for path, row in table.items() if len({repr(v) for v in row.values()}) > 1}


def _own_fields(arm: Arm) -> dict[str, Any]:
    """Path to value of the fields of a run that hold for it; of a checkpoint, what it is."""
    fields = dict(flat_fields("pretrain", arm.pretrain))
    if not arm.pretrain.model.checkpoint:
        return fields
    return {path: value for path, value in fields.items() if path.startswith(_OF_A_CHECKPOINT)}


_OF_A_CHECKPOINT = (
    *("pretrain.recipe", "pretrain.objective"),
    *(f"pretrain.model.{name}" for name in ("family", "checkpoint", "revision")),
)


def flat_fields(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of each field of a value, and of those within it."""
    if isinstance(value, Value):
        for name in type(value).model_fields:
            yield from flat_fields(f"{prefix}.{name}", getattr(value, name))
    elif isinstance(value, tuple) and value and all(isinstance(item, Value) for item in value):
        yield prefix, [item.model_dump() for item in value]
    else:
        yield prefix, value


def _is_declared(path: str, arms: Sequence[Arm]) -> bool:
    """Whether an axis sets this field, or a value that holds it."""
    axes = {axis for arm in arms for axis in arm.changes}
    return any(path == axis or path.startswith(f"{axis}.") for axis in axes)


def _check_contract(
    differences: Mapping[str, Any], declared: frozenset[str], arms: Sequence[Arm]
) -> None:
    """The single-variable contract: a field differs only by an axis, or by the recipe it varies."""
    recipe_varies = "pretrain.recipe" in differences
    for path in differences:
        implied = recipe_varies and path.startswith("pretrain.")
        if path not in declared and not implied:
            raise ValueError(f"the arms differ in {path}, which no axis of the grid varies")


def estimated_seconds(plan: Plan, keys: Sequence[str], workers: int) -> float:
    """Time of the stages `keys` on this many CPU threads, at an assumed rate; an order of size."""
    return sum(plan.stages[key].flops for key in keys) / SUSTAINED_FLOPS / max(1, workers)
