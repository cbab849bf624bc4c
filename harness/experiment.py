"""What a user declares: Experiment, Sweep, Seeds, Comparison; and the arms they resolve to."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from harness.adaptation import ADAPTATIONS, AnyAdaptation, Finetune, Protocol
from harness.adaptation.adaptation import Full
from harness.adaptation.chaining import Intermediate, Multitask, siamese_problem
from harness.adaptation.continuing import Continued
from harness.adaptation.recording import RECORDS
from harness.compute import Compute
from harness.corpora import CORPORA
from harness.models import MODELS, SIZES, checkpoint_files, checkpoint_objectives
from harness.objectives import OBJECTIVES
from harness.probes import PROBES
from harness.recipes import RECIPES, Pretrain
from harness.sweep import Sweep
from harness.tasks import TASKS
from harness.tasks.own import AnySuite, as_suite, suite_named, tasks_of
from harness.tasks.task import Suite, Task
from harness.tokenizers import TOKENIZERS
from harness.values import Value, merge, put, tuples, unknown

NAMED: dict[str, Mapping[str, Value]] = {
    "corpus": CORPORA,
    "tokenizer": TOKENIZERS,
    "objective": OBJECTIVES,
    "model": MODELS,
    "size": SIZES,
}
"""Fields of `pretrain` that may be given by name instead of by value."""
DEFAULT_RECIPE = "bert"
MAX_SEEDS = 1_000


class Seeds(Value):
    """Replicates: a number n stands for 0 .. n-1."""

    pretrain: tuple[int, ...] = (0,)
    finetune: tuple[int, ...] = (0,)

    @field_validator("pretrain", "finetune", mode="before", json_schema_input_type=int | list[int])
    @classmethod
    def _count(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= MAX_SEEDS:
                raise ValueError(f"must be 1 to {MAX_SEEDS} replicates, but is {value}")
            return tuple(range(value))
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"must be a number of replicates or a list of seeds, but is {value!r}")
        return tuples(value)

    @field_validator("pretrain", "finetune")
    @classmethod
    def _distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        valid = all(0 <= seed < 2**32 for seed in seeds)  # what torch and numpy both take
        if not seeds or len(seeds) > MAX_SEEDS or len(set(seeds)) < len(seeds) or not valid:
            raise ValueError(
                f"must be 1 to {MAX_SEEDS} distinct numbers from 0 to 2^32 - 1, "
                f"but is {list(seeds)[:8]}"
            )
        return seeds


class Evaluate(Value):
    """What the arms are judged on."""

    suite: AnySuite = "micro-glue-v1"
    """A name in `harness list suites`, or a suite of one's own: its name and its tasks."""
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Some tasks of the suite; null takes all. An average needs them all."""
    probes: tuple[str, ...] = ()
    """Names in `harness list probes`: what pretrained models are tested with as they are."""
    adaptation: AnyAdaptation = Full()
    """A name in `harness list adaptations`, or its fields."""
    protocol: Protocol = Protocol()
    finetune: Finetune = Finetune()
    submission: bool = False
    """Whether the splits without public labels are predicted, too, for a benchmark's server."""
    record: tuple[str, ...] = ()
    """What fine-tuning does, beside its scores: names in `harness list records`."""
    keep_weights: bool = False
    """Whether runs leave what they have trained beside their predictions."""
    continued: tuple[Continued, ...] = ()
    """Runs that go on from the pretrained model on other text before it meets a task, in order."""
    intermediate: tuple[Intermediate, ...] = ()
    """Tasks that a model is trained on, one after the other, before it meets the chosen ones."""
    multitask: Multitask | None = None
    """How the chosen tasks are learned together by one model; null: each by a model of its own."""
    sequence: bool = False
    """Whether one model learns the chosen tasks one after the other, in their order, and is scored
    after the last; after each task, the earlier ones are scored anew."""

    @property
    def chained(self) -> bool:
        """Whether what a task starts from has learned other tasks."""
        return bool(self.chain)

    @property
    def chain(self) -> dict[str, object]:
        """What is learned before a task or beside it, as lines of the protocol; empty: nothing."""
        lines: dict[str, object] = {}
        if self.intermediate:
            lines["intermediate"] = " then ".join(one.label for one in self.intermediate)
        if self.multitask:
            lines["multitask"] = self.multitask.model_dump(exclude_none=True)
        if self.sequence:
            lines["sequence"] = " then ".join(self.chosen)
        return lines

    @property
    def known_tasks(self) -> dict[str, Task]:
        """Name to task: all that ship, and those of the suite."""
        return {**TASKS, **tasks_of(self.suite_value)}

    @property
    def suite_value(self) -> Suite:
        """The whole suite."""
        return as_suite(self.suite)

    @property
    def chosen(self) -> dict[str, Task]:
        """Name to task of those that the arms are judged on."""
        known = tasks_of(self.suite_value)
        return {name: known[name] for name in self.tasks or known}

    @field_validator("suite")
    @classmethod
    def _suite(cls, suite: AnySuite) -> AnySuite:
        if isinstance(suite, str):
            suite_named(suite)
        return suite

    @field_validator("tasks")
    @classmethod
    def _tasks(cls, tasks: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        given = info.data.get("suite")  # absent where it is wrong itself
        suite = as_suite(given) if given else None
        for number, task in enumerate(tasks or ()):
            if suite and task not in suite.tasks:
                raise ValueError(unknown(f"in {suite.name} the task", task, suite.tasks))
            if tasks and task in tasks[:number]:
                raise ValueError(f"the task {task!r} is given twice")
        return tasks

    @field_validator("probes")
    @classmethod
    def _probes(cls, probes: tuple[str, ...]) -> tuple[str, ...]:
        for number, probe in enumerate(probes):
            if probe not in PROBES:
                raise ValueError(unknown("the probe", probe, PROBES))
            if probe in probes[:number]:
                raise ValueError(f"the probe {probe!r} is given twice")
        return probes

    @field_validator("record")
    @classmethod
    def _record(cls, records: tuple[str, ...]) -> tuple[str, ...]:
        for number, record in enumerate(records):
            if record not in RECORDS:
                raise ValueError(unknown("the record", record, RECORDS))
            if record in records[:number]:
                raise ValueError(f"the record {record!r} is given twice")
        return records

    @model_validator(mode="after")
    def _one_chain(self) -> "Evaluate":
        given = [name for name in ("intermediate", "multitask", "sequence") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} do not go together; keep one of them")
        if (self.multitask or self.sequence) and self.adaptation.kind != "full":
            raise ValueError(
                f"{given[0]} trains the whole model and needs the adaptation full, but it is "
                f"{self.adaptation.kind}"
            )
        for one in self.intermediate:
            self._check_intermediate(one)
        return self

    def _check_intermediate(self, one: Intermediate) -> None:
        known = self.known_tasks
        if one.task not in known:
            raise ValueError(unknown("the intermediate task", one.task, known))
        task = known[one.task]
        if not task.train:
            raise ValueError(f"an intermediate task needs a train set, but {one.task} has none")
        for name in one.into or ():
            if name not in self.chosen:
                raise ValueError(unknown("into: the chosen task", name, self.chosen))
        if one.siamese and (why := siamese_problem(task, one.siamese)):
            raise ValueError(why)


class Comparison(Value):
    """An expectation to confirm or refute: `better` scores above `worse`."""

    better: str
    worse: str

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        sides = [side.strip() for side in value.split(">")]
        if len(sides) != 2 or not all(sides):
            raise ValueError(f"an expectation reads 'arm > arm', but is {value!r}")
        return {"better": sides[0], "worse": sides[1]}


def _axis_kind(value: Any) -> str:
    return "bundles" if isinstance(value, Mapping) else "values"


Axis = Annotated[
    Annotated[tuple[Any, ...], Tag("values")]
    | Annotated[Mapping[str, Mapping[str, Any]], Tag("bundles")],
    Discriminator(_axis_kind),
]
"""Values of one field, or named bundles of several fields (dotted path to value)."""


class Experiment(Value):
    """A question, a base, the axes that vary, and how the answer is judged."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    """Lower-case letters, digits, - and _."""
    question: str = Field(min_length=1)
    source: str = ""
    """Where the claim comes from."""
    tags: tuple[str, ...] = ()
    """Words to find it by among others: `harness leaderboard SUITE --tag WORD`."""
    expect: tuple[Comparison, ...] = ()
    """What the source says will come out: 'arm > arm', one or a list."""
    pretrain: Mapping[str, Any]
    """Fields of a pretraining run; what is not set comes from the recipe."""
    grid: Mapping[str, Axis] = Field(default_factory=dict)
    """Axis to values. An axis named by a dotted path varies that field; another name varies the
    bundles it lists."""
    seeds: Seeds = Seeds()
    evaluate: Evaluate = Evaluate()
    sweep: Sweep = Sweep()
    compute: Compute = Compute()

    @field_validator(
        "expect",
        mode="before",
        json_schema_input_type=str | Comparison | list[str | Comparison],
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, (str, Mapping)) else tuples(value)


@dataclass(frozen=True)
class Arm:
    """One fully resolved combination."""

    name: str
    labels: Mapping[str, str]
    """Axis to the label of its value."""
    changes: Mapping[str, Any]
    """Dotted path to the value that the axes set."""
    pretrain: Pretrain
    evaluate: Evaluate

    @property
    def adapted(self) -> Pretrain:
        """The pretraining as a task meets it: with the objective of the last continued run that
        has one of its own."""
        told = [step.objective for step in self.evaluate.continued if step.objective]
        return self.pretrain.model_copy(update={"objective": told[-1]}) if told else self.pretrain


def choices(axis: str, values: Axis) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each value of an axis as (label, {dotted path: value})."""
    if isinstance(values, Mapping):
        yield from values.items()
    else:
        for value in values:
            yield value_label(axis, value), {axis: value}


def value_label(axis: str, value: Any) -> str:
    """What stands for a value in the names of arms: `none`, `mask_rate=0.3`, `tokens=0`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value:
        return ",".join(value_label(name, item) for name, item in value.items())
    return f"{axis.rpartition('.')[2]}={json.dumps(value)}"


def combinations(grid: Mapping[str, Axis]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Each arm of the grid: its labels by axis, and all that it sets; one for an empty grid."""
    axes = [[(axis, *choice) for choice in choices(axis, values)] for axis, values in grid.items()]
    for picked in itertools.product(*axes):
        labels = {axis: label for axis, label, _ in picked}
        changes = {path: value for _, _, sets in picked for path, value in sets.items()}
        yield labels, changes


def resolve_arm(
    experiment: Experiment, labels: Mapping[str, str], changes: Mapping[str, Any]
) -> Arm:
    """The base with one combination of the grid laid over it, on the recipe it names.

    Raises:
        ValueError: the combination is not a possible run.
    """
    tree = changed_tree(experiment, changes)
    return Arm(
        name="/".join(labels.values()) or experiment.name,
        labels=labels,
        changes=changes,
        pretrain=resolve_pretrain(tree["pretrain"]),
        evaluate=Evaluate.read(tree["evaluate"]),
    )


def changed_tree(experiment: Experiment, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`pretrain` and `evaluate` with `changes`, in plain data; names replaced by their values.

    A whole value goes before its fields, in whatever order the axes stand.
    """
    tree = {
        "pretrain": expand_names(experiment.pretrain),
        "evaluate": experiment.evaluate.model_dump(),
    }
    for path in sorted(changes, key=lambda path: path.count(".")):
        tree = put(tree, path, changes[path])
        if isinstance(tree["pretrain"], Mapping):
            tree["pretrain"] = expand_names(tree["pretrain"])
        tree["evaluate"] = _with_adaptation(tree["evaluate"])
    return tree


def resolve_pretrain(fields: Mapping[str, Any]) -> Pretrain:
    """`fields` laid over the recipe they name (BERT if they name none).

    Raises:
        ValueError: they do not describe a run.
    """
    return Pretrain.read(on_recipe(fields))


def on_recipe(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` and, where they say nothing, those of the recipe; so, too, for the runs that this
    one builds on.

    Raises:
        ValueError: there is no such recipe.
    """
    recipe = fields.get("recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ValueError(unknown("the recipe", recipe, RECIPES))
    resolved = _laid(RECIPES[recipe].model_dump(), fields)
    for role in ROLES:
        if isinstance(resolved.get(role), Mapping):
            resolved[role] = _other_run(role, resolved, fields)
    return resolved | _of_the_checkpoint(resolved["model"])


def _of_the_checkpoint(model: Any) -> dict[str, Any]:
    """What stands in place of a run's fields where there is a checkpoint: nothing to spend, and, if
    its files lie at hand, what it was trained on and how far it can read."""
    name = model.get("checkpoint") if isinstance(model, Mapping) else None
    if not isinstance(name, str):
        return {}
    fields: dict[str, Any] = {"budget": {"tokens": 0}, "checkpoints": ()}
    folder = checkpoint_files.found(name, model.get("revision"))
    if folder and not checkpoint_files.problem(folder):  # else said where data are checked
        learned = checkpoint_objectives.learned(folder)
        fields["objective"] = learned
        if isinstance(learned, str):
            fields["objective"] = OBJECTIVES[learned].model_dump()
        most = checkpoint_files.positions(checkpoint_files.read_config(folder))
        fields["model"] = {**model, "max_position": int(min(most, UNBOUNDED))}
    return fields


UNBOUNDED = 2**30
"""Positions of a checkpoint whose files name no bound."""


ROLES = ("start_from", "teacher")
"""Fields of a run that are runs themselves."""
OF_THE_TEXT = ("corpus", "tokenizer")
"""What another run has from the run that builds on it in any case,"""
OF_THE_TRAINING = ("packing", "phases", "batch_size", "optimizer", "schedule", "budget")
"""what it takes over where the experiment says it and it says nothing itself,"""
OF_THE_NETWORK = ("max_position", "dropout", "attention_dropout", "initializer_range")
"""and the same of its model."""


def _other_run(role: str, resolved: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A teacher or a start: its own fields over those of the run that builds on it, over those of
    the recipe that it names, or that the run's recipe gives it."""
    own = fields.get(role) or {}
    inherited = {name: fields[name] for name in OF_THE_TRAINING if name in fields}
    inherited |= {name: resolved[name] for name in OF_THE_TEXT}
    network = fields.get("model")
    if isinstance(network, Mapping):
        common = {name: network[name] for name in OF_THE_NETWORK if name in network}
        inherited["model"] = common
    if "recipe" in own:
        return on_recipe(_laid(inherited, own))
    given = RECIPES[resolved["recipe"]].model_dump()[role]
    plain = {name: value for name, value in resolved.items() if name not in (*ROLES, "checkpoints")}
    return _laid(_laid(given or plain, inherited), own)


def _laid(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` over `base`; a budget replaces the other, for its units exclude each other."""
    if "budget" in fields:
        base = {name: value for name, value in base.items() if name != "budget"}
    return merge(base, fields)


def expand_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Names replaced by the values they stand for; unknown names stay, for validation to refuse."""
    out = dict(fields)
    for field, family in NAMED.items():
        name = out.get(field)
        if isinstance(name, str) and name in family:
            out[field] = family[name].model_dump()
    if isinstance(out.get("objective"), Mapping):
        out["objective"] = _with_kinds(out["objective"])
    for role in ROLES:
        if isinstance(out.get(role), Mapping):
            out[role] = expand_names(out[role])
    return out


def _with_adaptation(evaluate: Any) -> Any:
    """The name of an adaptation replaced by its fields, so that others can be laid over them."""
    name = evaluate.get("adaptation") if isinstance(evaluate, Mapping) else None
    if not isinstance(name, str) or name not in ADAPTATIONS:
        return evaluate
    return {**evaluate, "adaptation": ADAPTATIONS[name].model_dump()}


def _with_kinds(objective: Mapping[str, Any]) -> dict[str, Any]:
    """`transform: prefix` as `transform: {kind: prefix}`, so that fields can be laid over it; what
    lists a mixture is one."""
    out = {"kind": "mixture", **objective} if "mixture" in objective else dict(objective)
    for part in ("transform", "output"):
        if isinstance(out.get(part), str):
            out[part] = {"kind": out[part]}
    return out
