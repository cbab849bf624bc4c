"""Experiment file -> Declaration: the experiment and its arms, or every problem with its line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.core.config import unknown_name
from harness.experiment.arms import Arm, changed_tree, combinations, resolve_arm
from harness.experiment.checks import (
    adaptation,
    checkpoint,
    continued_pretraining,
    grid,
    modules,
    multitask,
)
from harness.experiment.composition import complete, find
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.experiment.messages import sentences
from harness.experiment.named_values import DEFAULT_RECIPE
from harness.experiment.origins import value_place
from harness.experiment.plugins import load_plugin
from harness.experiment.recipe_defaults import on_recipe
from harness.experiment.source import Source, read_text
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain

PLACEHOLDERS = {"name": "unnamed", "question": "?"}
"""For fields without a default, so that the others are checked where these are wrong."""


@dataclass(frozen=True)
class Declaration:
    """A valid experiment, and where it was read from."""

    experiment: Experiment
    arms: tuple[Arm, ...]
    overrides: tuple[str, ...] = ()
    """`path=value`, as given to `--set`; recorded with the run."""
    variants: tuple[str, ...] = ()
    """Names of the variants chosen, in the order applied."""
    path: Path = Path("experiment")
    """The file, or what stands for it in error messages."""
    source: Source | None = field(default=None, repr=False, compare=False)
    """Where each value was given; null if the experiment was not read from text."""

    def resolved(self) -> dict[str, Any]:
        """Plain data: the experiment, its overrides, and the resolved fields of each arm."""
        return {
            "experiment": self.experiment.model_dump(mode="json"),
            "variants": list(self.variants),
            "overrides": list(self.overrides),
            "arms": {
                arm.name: {
                    "pretrain": arm.pretrain.model_dump(mode="json"),
                    "evaluate": arm.evaluate.model_dump(mode="json"),
                }
                for arm in self.arms
            },
        }


def load(path: Path, overrides: Sequence[str] = (), variants: Sequence[str] = ()) -> Declaration:
    """The experiment in a file and its arms.

    Args:
        path: a file, or the name of a shipped experiment.
        overrides: `path=value`, as `--set` takes them.
        variants: names of variants that the file declares, applied before the overrides.

    Raises:
        DeclarationError: every problem of the file, each with its line.
    """
    path = find(str(path), Path()) or path
    return read(read_text(path), path, overrides, variants)


def read(
    text: str, path: Path, overrides: Sequence[str] = (), variants: Sequence[str] = ()
) -> Declaration:
    """The same for a text that need not be in a file; messages cite its lines by `path`.

    Raises:
        DeclarationError: every problem of the text, each with its line.
    """
    return _declaration(Source.parse(path, text), overrides, variants)


def from_data(
    data: Mapping[str, Any], overrides: Sequence[str] = (), variants: Sequence[str] = ()
) -> Declaration:
    """The same for plain data, as an experiment file would hold them.

    Raises:
        DeclarationError: every problem of the data.
    """
    return _declaration(Source.from_data(data, "experiment"), overrides, variants)


def _declaration(source: Source, overrides: Sequence[str], variants: Sequence[str]) -> Declaration:
    source = complete(source, variants)
    for override in overrides:
        source.set(override)
    _load_plugins(source)
    experiment = _experiment(source)
    arms = _arms(source, experiment) if experiment else []
    source.raise_problems()
    assert experiment is not None  # or there was a problem
    return Declaration(
        experiment, tuple(arms), tuple(overrides), tuple(variants), source.path, source
    )


def _load_plugins(source: Source) -> None:
    """Loads the plug-ins that are named, so that the fields can name their members."""
    names = source.data.get("plugins", [])
    for index, name in enumerate(names if isinstance(names, list) else []):
        try:
            if isinstance(name, str):
                load_plugin(name)
        except ValueError as error:
            source.report(("plugins", index), f"plugins: {error}")


def _experiment(source: Source) -> Experiment | None:
    """The experiment; where parts of it are wrong, what is left without them, if that is any."""
    try:
        return Experiment.read(source.data)
    except ValidationError as error:
        for keys, message in sentences(error, Experiment, (), source.data):
            source.report(source.mentioned(keys, message), message)
        wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
    rest = {name: value for name, value in source.data.items() if name not in wrong}
    return Experiment.read({**PLACEHOLDERS, **rest}) if "pretrain" in rest else None


def _arms(source: Source, experiment: Experiment) -> list[Arm]:
    """The arms of the grid; only those of its sound axes if there is something wrong with it."""
    broken = [*grid.axis_problems(experiment.grid), *grid.sweep_problems(experiment)]
    for keys, message in (*broken, *grid.base_problems(experiment)):
        source.report(keys, message)
    if broken:
        wrong = {keys[1] for keys, _ in broken if len(keys) > 1}
        whole = any(len(keys) == 1 for keys, _ in broken)
        rest = {} if whole else {a: v for a, v in experiment.grid.items() if a not in wrong}
        experiment = experiment.model_copy(update={"grid": rest})
    arms = list(_resolved(source, experiment))
    if source.problems:
        return arms
    for arm in arms:
        for keys, message in (
            *checkpoint.problems(arm),
            *continued_pretraining.problems(arm),
            *modules.problems(arm),
        ):
            source.report(value_place(source, experiment, arm.labels, keys, ""), message)
    for check in (
        grid.arms_problems,
        grid.world_problems,
        adaptation.protocol_problems,
        adaptation.space_problems,
        multitask.chain_problems,
        grid.expectation_problems,
    ):
        for keys, message in check(experiment, arms):
            source.report(keys, message)
    return arms


def _resolved(source: Source, experiment: Experiment) -> Iterator[Arm]:
    for labels, changes in combinations(experiment.grid):
        try:
            yield resolve_arm(experiment, labels, changes)
        except ValueError:
            for keys, message in _arm_problems(experiment, changes):
                source.report(value_place(source, experiment, labels, keys, message), message)


def _arm_problems(experiment: Experiment, changes: Mapping[str, Any]) -> grid.Problems:
    """Why a combination of the grid is not a possible run."""
    tree = changed_tree(experiment, changes)
    fields = tree["pretrain"]
    try:
        fields = on_recipe(fields)
    except ValueError:
        message = unknown_name("the recipe", fields["recipe"], RECIPES)
        yield ("pretrain", "recipe"), f"pretrain.recipe: {message}"
        fields = on_recipe({**fields, "recipe": DEFAULT_RECIPE})
    for name, model, data in (
        ("pretrain", Pretrain, fields),
        ("evaluate", Evaluate, tree["evaluate"]),
    ):
        try:
            model.read(data)
        except ValidationError as error:
            yield from sentences(error, model, (name,), data)
