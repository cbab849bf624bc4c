"""Experiment file -> Declaration, or an error with the line of every problem."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.core.config import unknown_name
from harness.experiment.arms import Arm, arm_name, changed_tree, combinations, resolve_arm
from harness.experiment.checks import (
    compute,
    each_arm,
    finetuning,
    grid,
    loggers,
    overridden,
    quantities,
    search,
    size,
    unread_settings,
    warmup,
    worlds,
)
from harness.experiment.composition import compose, find
from harness.experiment.data_checks import report_data_problems
from harness.experiment.declared_plugins import load_plugins
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.experiment.experiment_file import read_text
from harness.experiment.messages import MAX_PROBLEMS, error_messages
from harness.experiment.origins import value_place
from harness.experiment.own_tasks import as_suite
from harness.experiment.recipe_defaults import DEFAULT_RECIPE, with_recipe_defaults
from harness.experiment.source import DeclarationError, Place, Source
from harness.experiment.yaml_reader import Keys
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain

ProblemsOfArms = defaultdict[tuple[Place, str], list[tuple[Keys, str]]]
"""(place, message) to (keys, arm) of the arms that have this problem."""
PLACEHOLDERS = {"name": "unnamed", "question": "?"}
"""For required fields, so that the others are checked even if these are wrong."""
OF_ARMS = {"evaluate", "sweep", "grid", "arms", "plugins"}
"""Fields, beside `pretrain`, without which the arms are not those that the user means."""


@dataclass(frozen=True)
class Declaration:
    """A valid experiment, its arms, and where each value was given."""

    experiment: Experiment
    arms: tuple[Arm, ...]
    overrides: tuple[str, ...] = ()
    """`path=value`, as given to `--set`; recorded with the run."""
    variants: tuple[str, ...] = ()
    """Names of the variants, in the order in which they were applied."""
    path: Path = Path("experiment")
    """The file as named in error messages."""
    source: Source | None = field(default=None, repr=False, compare=False)
    """The place of each value; null if the experiment was not read from a file or from data."""

    def is_same_file(self, other: "Declaration") -> bool:
        """Whether both were read from one file, perhaps with other variants or overrides."""
        return self.path.is_file() and other.path.is_file() and self.path.samefile(other.path)

    def resolved(self) -> dict[str, Any]:
        """The experiment, its variants and overrides, and the fields of each arm as plain data."""
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


def load(
    path: Path,
    overrides: Sequence[str] = (),
    variants: Sequence[str] = (),
    *,
    with_data: bool = False,
) -> Declaration:
    """The experiment in a file and its arms.

    Args:
        path: a file, or the name of a shipped experiment.
        overrides: `path=value`, as for `--set`.
        variants: names of variants that the file declares, applied before the overrides.
        with_data: whether missing or unreadable data are problems, too.

    Raises:
        DeclarationError: every problem of the file, each with its line.
    """
    path = find(str(path), Path()) or path
    return read(read_text(path), path, overrides, variants, with_data=with_data)


def read(
    text: str,
    path: Path,
    overrides: Sequence[str] = (),
    variants: Sequence[str] = (),
    *,
    with_data: bool = False,
) -> Declaration:
    """The experiment in a text and its arms; see `load`.

    Args:
        path: the file as named in messages, and the base of relative paths in `extends`.

    Raises:
        DeclarationError: every problem of the text, each with its line.
    """
    return _declaration(Source.parse(path, text), overrides, variants, with_data)


def from_data(
    data: Mapping[str, Any],
    overrides: Sequence[str] = (),
    variants: Sequence[str] = (),
    *,
    with_data: bool = False,
) -> Declaration:
    """The experiment in plain data with the fields of an experiment file, and its arms; see `load`.

    Raises:
        DeclarationError: every problem of the data.
    """
    return _declaration(Source.from_data(data), overrides, variants, with_data)


def variant_problems(declaration: Declaration) -> Iterator[str]:
    """The problems of each variant of an experiment file, applied alone; none if variants have been
    applied already."""
    declared = declaration.source.variants if declaration.source else ()
    for name in () if declaration.variants else declared:
        try:
            load(declaration.path, declaration.overrides, [name])
        except DeclarationError as error:
            yield from (f"variant {name}: {problem}" for problem in error.problems)


def _declaration(
    source: Source, overrides: Sequence[str], variants: Sequence[str], with_data: bool
) -> Declaration:
    source = compose(source, variants, overrides)
    load_plugins(source)
    as_suite(source)
    experiment, wrong = _experiment(source)
    if experiment is None:
        source.raise_problems()
    assert experiment is not None  # else `raise_problems` has raised
    arms = _arms(source, experiment, wrong)
    if not wrong & {"grid", "name"}:  # of which the names of the arms are made
        source.report_all(grid.expectation_problems(experiment, "evaluate" not in wrong))
    if with_data:
        report_data_problems(source, experiment, arms)
    source.raise_problems()
    return Declaration(
        experiment, tuple(arms), tuple(overrides), tuple(variants), source.path, source
    )


def _experiment(source: Source) -> tuple[Experiment | None, set[Any]]:
    """The experiment without its invalid fields, which are reported, and the names of these; null
    if `pretrain` is one."""
    try:
        return Experiment.read(source.data), set()
    except ValidationError as error:
        for keys, message in error_messages(error, Experiment, (), source.data):
            source.report(source.mentioned(keys, message), message)
        wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
    if "pretrain" in wrong:
        return None, wrong
    rest = {name: value for name, value in source.data.items() if name not in wrong}
    return Experiment.read({**PLACEHOLDERS, **rest}), wrong


def _arms(source: Source, experiment: Experiment, wrong: set[Any]) -> list[Arm]:
    """The arms of the grid without its invalid axes, which are reported.

    Args:
        wrong: fields of the experiment that are invalid; without those of arms, arms are not
            checked further.
    """
    before = len(source.problems)
    broken = [
        *grid.axis_problems(experiment.grid),
        *grid.own_field_problems(experiment),
        *search.sweep_problems(experiment),
    ]
    source.report_all(broken)
    source.report_all(search.changed_problems(experiment, source.changed))
    source.report_all(grid.base_problems(experiment))
    if broken:
        left_out = {keys[1] for keys, _ in broken if len(keys) > 1}
        too_large = any(len(keys) == 1 for keys, _ in broken)
        rest = {} if too_large else {a: v for a, v in experiment.grid.items() if a not in left_out}
        own = {arm: sets for arm, sets in experiment.arms.items() if arm not in left_out}
        experiment = experiment.model_copy(update={"grid": rest, "arms": own})
    arms = _resolved(source, experiment, {(name,) for name in wrong})
    if wrong & OF_ARMS or len(source.problems) > before:
        return arms
    found: ProblemsOfArms = defaultdict(list)
    for arm in arms:
        problems = each_arm.problems(arm, arms, experiment.seeds)
        for keys, message in (*problems, *search.problems(experiment, arm)):
            given = value_place(source, experiment, arm.labels, keys, "")
            found[source.place(given), message].append((given, arm.name))
    _report(source, found, len(arms))
    for check in (
        grid.arms_problems,
        worlds.world_problems,
        size.run_problems,
        finetuning.protocol_problems,
        search.space_problems,
        search.pretrain_space_problems,
        unread_settings.base_problems,
        quantities.quantity_problems,
        compute.device_problems,
        loggers.logger_problems,
    ):
        source.report_all(check(experiment, arms))
    source.report_all(overridden.overridden_problems(experiment, arms, source.changed))
    source.report_all(warmup.changed_problems(arms, source.changed))
    return arms


def _resolved(source: Source, experiment: Experiment, replaced: Collection[Keys]) -> list[Arm]:
    """The valid arms; the problems of the others are reported.

    Args:
        replaced: keys of invalid fields, whose defaults the arms have: how the parts of one fit
            together is not the user's problem.
    """
    arms, found = [], ProblemsOfArms(list)
    picked = list(combinations(experiment.grid))
    for labels, changes in picked:
        if len(found) >= MAX_PROBLEMS:  # `_report` raises them
            break
        try:
            arms.append(resolve_arm(experiment, labels, changes))
        except ValueError:
            name = arm_name(experiment, labels)
            whole = {**changes, **experiment.arms.get(name, {})}
            for keys, message in _arm_problems(experiment, whole):
                if keys in replaced:
                    continue
                given = value_place(source, experiment, labels, keys, message)
                found[source.place(given), message].append((given, name))
    _report(source, found, len(picked))
    return arms


def _report(source: Source, found: ProblemsOfArms, num_arms: int) -> None:
    """Reports problems, with the names of the arms that have them unless all do."""
    for (_, message), given in found.items():
        names = list(dict.fromkeys(name for _, name in given))
        is_named = len(names) == num_arms or any(repr(name) in message for name in names)
        rest = f" and {len(names) - 3} others" if len(names) > 3 else ""
        shown = ", ".join(map(repr, names[:3])) + rest
        arms = "arm" if len(names) == 1 else "arms"
        source.report(given[0][0], message if is_named else f"{message} ({arms} {shown})")


def _arm_problems(experiment: Experiment, changes: Mapping[str, Any]) -> grid.Problems:
    """The problems of a combination of the grid that describes no valid run."""
    tree = changed_tree(experiment, changes)
    fields = tree["pretrain"]
    try:
        fields = with_recipe_defaults(fields)
    except ValueError:
        message = unknown_name("the recipe", fields["recipe"], RECIPES)
        yield ("pretrain", "recipe"), f"pretrain.recipe: {message}"
        fields = with_recipe_defaults({**fields, "recipe": DEFAULT_RECIPE})
    for name, kind, data in (
        ("pretrain", Pretrain, fields),
        ("evaluate", Evaluate, tree["evaluate"]),
    ):
        try:
            kind.read(data)
        except ValidationError as error:
            yield from error_messages(error, kind, (name,), data)
