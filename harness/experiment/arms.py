"""The arms of an experiment: every combination of the values of its axes."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.config import ConfigModel, deep_merge, set_path
from harness.experiment.evaluation import PROMPT_TRAININGS, Evaluate
from harness.experiment.experiment import Axis, Experiment
from harness.experiment.recipe_defaults import (
    NAMED,
    evaluate_defaults,
    expand_names,
    resolve_pretrain,
)
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.space import (
    ADAPTATION,
    branch_of,
    branches_of,
    parameters,
    space_of,
    tried_text,
)
from harness.finetuning.search.sweep import Sweep
from harness.pretraining.recipes.pretrain import Pretrain

ADAPTED = "evaluate.adaptation"
NO_SEARCH = Sweep()


@dataclass(frozen=True)
class Arm:
    """One combination of the grid, with all fields resolved."""

    name: str
    labels: Mapping[str, str]
    """Axis to the label of its value."""
    changes: Mapping[str, Any]
    """Dotted path to value of the fields that the axes and `arms` set."""
    pretrain: Pretrain
    evaluate: Evaluate
    sweep: Sweep = NO_SEARCH
    """The search of its fine-tuning settings; without trials if nothing is trained."""
    pretrain_search: PretrainSearch | None = None
    """The search of pretraining settings, which has no effect on arms without pretraining."""

    def searched(self, field: str) -> str:
        """What the search tries of a field of `evaluate.finetune`: `16 or 32`; empty if it is not
        searched."""
        tried = []
        for name, found in parameters(self.sweep.space).items():
            branch, _, own = name.rpartition(".")
            if own == field and branch != ADAPTATION:
                tried.append(f"{branch}: {tried_text(found)}".removeprefix(": "))
        return "; ".join(tried)

    @property
    def tried_adaptations(self) -> list[Adaptation]:
        """Those that its search chooses among, else its own."""
        branches = branches_of(self.sweep.space)
        return [ADAPTATIONS[name] for name in branches] or [self.evaluate.adaptation]

    @property
    def is_baseline(self) -> bool:
        """Whether it has no network, so that nothing is fine-tuned."""
        return self.pretrain.model.facts.kind == "baseline"

    @property
    def has_one_run(self) -> bool:
        """Whether it has one pretraining run for any number of seeds: a checkpoint that is not
        pretrained further."""
        return bool(self.pretrain.model.checkpoint) and not self.evaluate.continued_pretraining

    @property
    def networks(self) -> int:
        """Pretrained networks that are fine-tuned and scored as one: the members of an ensemble
        over pretraining, else 1."""
        ensemble = self.evaluate.ensemble
        is_trained = self.pretrain.model.facts.kind != "baseline"
        return ensemble.members if ensemble and ensemble.over and is_trained else 1

    def replicates(self, seeds: Sequence[int]) -> list[tuple[int, ...]]:
        """The pretraining seeds whose networks are scored as one, for each independent score. The
        first seed of each stands for it in results."""
        ensemble = self.evaluate.ensemble
        if ensemble and self.networks > 1:
            return ensemble.groups(seeds)
        return [(seed,) for seed in (seeds[:1] if self.has_one_run else seeds)]

    @property
    def adapted(self) -> Pretrain:
        """The settings of the model that is fine-tuned: `pretrain` with the objective of the last
        continued run that sets one."""
        steps = self.evaluate.continued_pretraining
        objectives = [step.objective for step in steps if step.objective]
        update = {"objective": objectives[-1]} if objectives else {}
        return self.pretrain.model_copy(update=update)


def choices(axis: str, values: Axis) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each value of an axis as (label, {dotted path: value})."""
    if isinstance(values, Mapping):
        yield from values.items()
    else:
        for value in values:
            yield value_label(axis, value), {axis: value}


def value_label(axis: str, value: Any) -> str:
    """The label of a value in the names of arms: `none`, `mask_rate=0.3`, `tokens=0`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value:
        return ",".join(value_label(name, item) for name, item in value.items())
    return f"{axis.rpartition('.')[2]}={json.dumps(value)}"


def combinations(grid: Mapping[str, Axis]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """(axis to label, dotted path to value) of each arm; an empty grid has one arm without either.

    The last axis varies fastest.
    """
    axes = [[(axis, *choice) for choice in choices(axis, values)] for axis, values in grid.items()]
    for picked in itertools.product(*axes):
        labels = {axis: label for axis, label, _ in picked}
        changes = {path: value for _, _, sets in picked for path, value in sets.items()}
        yield labels, changes


def resolve_arm(
    experiment: Experiment, labels: Mapping[str, str], changes: Mapping[str, Any]
) -> Arm:
    """The arm of one combination: base, values of the axes, changes of this arm, and defaults of
    the recipe.

    Args:
        labels: axis to label, which make up the name.
        changes: dotted path to value.

    Raises:
        ValueError: the fields do not describe a run.
    """
    name = arm_name(experiment, labels)
    changes = {**changes, **experiment.arms.get(name, {})}
    tree = changed_tree(experiment, changes)
    pretrain = resolve_pretrain(tree["pretrain"])
    evaluate = Evaluate.read(_with_size_defaults(tree["evaluate"], pretrain))
    before = experiment.sweep.pretrain
    return Arm(
        name=name,
        labels=labels,
        changes=changes,
        pretrain=pretrain,
        evaluate=evaluate,
        sweep=_sweep(experiment, pretrain, evaluate),
        pretrain_search=before.of(pretrain) if before else None,
    )


def arm_name(experiment: Experiment, labels: Mapping[str, str]) -> str:
    """The labels of an arm, one for each axis; without a grid, the name of the experiment."""
    return "/".join(labels.values()) or experiment.name


def _sweep(experiment: Experiment, pretrain: Pretrain, evaluate: Evaluate) -> Sweep:
    """The search of an arm; if the grid gives it an adaptation, in the space of that alone."""
    if not evaluate.adaptation.trains or pretrain.model.facts.kind == "baseline":
        return NO_SEARCH
    sweep = experiment.sweep
    branch = branch_of(sweep.space, evaluate.adaptation)
    if branch is None or not varies_adaptation(experiment):
        return sweep
    return sweep.model_copy(update={"space": space_of(sweep.space, branch)})


def varies_adaptation(experiment: Experiment) -> bool:
    """Whether arms have adaptations of their own, so that a sweep does not choose among them."""
    of_axes = (sets for axis in experiment.grid.items() for _, sets in choices(*axis))
    return any(ADAPTED in sets for sets in (*of_axes, *experiment.arms.values()))


def changed_tree(experiment: Experiment, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`pretrain` and `evaluate` with `changes` as plain data; names are replaced by their values.

    Changes of a field come before changes within it, in any order of the axes. A budget replaces
    that of the base, whose unit may be another. An unknown name is kept, and refused by validation,
    whatever is changed within it.
    """
    pretrain = dict(expand_names(experiment.pretrain))
    if any(path.split(".")[:2] == ["pretrain", "budget"] for path in changes):
        pretrain.pop("budget", None)
    tree = {
        "pretrain": pretrain,
        "evaluate": _declared_fields(experiment.evaluate),
    }
    for path in sorted(changes, key=lambda path: path.count(".")):
        if _is_within_name(tree, path):
            continue
        tree = set_path(tree, path, changes[path])
        if isinstance(tree["pretrain"], Mapping):
            tree["pretrain"] = expand_names(tree["pretrain"])
        tree["evaluate"] = _with_adaptation(tree["evaluate"])
    return tree


def _is_within_name(tree: Mapping[str, Any], path: str) -> bool:
    """Whether a dotted path leads into a field whose value is an unknown name."""
    value: Any = tree
    for field in path.split(".")[:-1]:
        value = value.get(field) if isinstance(value, Mapping) else None
        if isinstance(value, str) and field in NAMED:
            return True
    return False


def _declared_fields(evaluate: Evaluate) -> dict[str, Any]:
    """`evaluate` as plain data; of the fields that may follow the size, those that are set."""
    tasks = [
        {**task.model_dump(), "finetune": task.finetune and _set_fields(task.finetune)}
        for task in evaluate.intermediate_tasks
    ]
    prompted = {
        name: {**given.model_dump(), "finetune": given.finetune and _set_fields(given.finetune)}
        for name in PROMPT_TRAININGS
        if (given := getattr(evaluate, name))
    }
    return {
        **evaluate.model_dump(),
        "finetune": _set_fields(evaluate.finetune),
        "protocol": _set_fields(evaluate.protocol),
        "intermediate_tasks": tasks,
        **prompted,
    }


def _set_fields(value: ConfigModel) -> dict[str, Any]:
    return value.model_dump(include=value.model_fields_set)


def _with_size_defaults(evaluate: Any, pretrain: Pretrain) -> Any:
    """`evaluate` with the settings of the network's size where none are set; those of training on
    earlier tasks are `evaluate.finetune` where none are set."""
    merged = deep_merge(evaluate_defaults(pretrain), evaluate)

    def filled(training: Any) -> Any:
        if not (isinstance(training, Mapping) and training.get("finetune")):
            return training
        return deep_merge({"finetune": merged["finetune"]}, training)

    prompted = {name: filled(merged.get(name)) for name in PROMPT_TRAININGS}
    tasks = [filled(task) for task in merged["intermediate_tasks"]]
    return {**merged, "intermediate_tasks": tasks, **prompted}


def sets_protocol(experiment: Experiment, arm: Arm, field: str) -> bool:
    """Whether the experiment or an axis gives a field of `evaluate.protocol`."""
    return field in changed_tree(experiment, arm.changes)["evaluate"]["protocol"]


def _with_adaptation(evaluate: Any) -> Any:
    """Replaces the name of an adaptation by its fields, so that changes can be merged into them."""
    name = evaluate.get("adaptation") if isinstance(evaluate, Mapping) else None
    if not isinstance(name, str) or name not in ADAPTATIONS:
        return evaluate
    return {**evaluate, "adaptation": ADAPTATIONS[name].model_dump()}
