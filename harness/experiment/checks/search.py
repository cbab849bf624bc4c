"""Checks of the search: its space for each arm, and fields that it selects but others set."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from harness.experiment.arms import ADAPTED, Arm, varies_adaptation
from harness.experiment.checks.axis_fields import axis_paths, fields_within
from harness.experiment.checks.grid import Problems
from harness.experiment.checks.trials import trial_problems
from harness.experiment.checks.unread_settings import unread
from harness.experiment.experiment import Experiment
from harness.experiment.yaml_reader import Keys
from harness.finetuning.search import pretrain_search
from harness.finetuning.search.pretrain_search import PretrainSearch, is_searched
from harness.finetuning.search.space import (
    ADAPTATION,
    ADAPTATION_PREFIX,
    Choice,
    Space,
    branch_of,
    branches_of,
    check_tried,
    ends,
    own,
    shared,
)
from harness.pretraining.recipes.pretrain import Pretrain


def sweep_problems(experiment: Experiment) -> Problems:
    """Axes, and changes of single arms, over a hyperparameter of fine-tuning that the sweep
    selects."""
    of_axes = (found for axis in experiment.grid.items() for found in axis_paths(*axis))
    of_arms = (
        (("arms", arm, path), path) for arm, sets in experiment.arms.items() for path in sets
    )
    for keys, path in (*of_axes, *of_arms):
        if path.startswith("evaluate.") and (name := searched_name(experiment, path)):
            yield keys, _unused(path, name)


def problems(experiment: Experiment, arm: Arm) -> Problems:
    """Fields of pretraining that an arm sets and its search selects, and such fields of fine-tuning
    within a mapping; arms whose pretraining is not searched have fields of their own."""
    for path, value in arm.changes.items():
        for field in fields_within(path, value):
            if name := _searched_of(experiment, arm, path, field):
                yield tuple(field.split(".")), _unused(field, name)


def _searched_of(experiment: Experiment, arm: Arm, path: str, field: str) -> str:
    """The hyperparameter that the search of an arm selects in place of a field within the value at
    `path`; empty if there is none. For spaces of adaptations, see `_given_and_searched`."""
    if field.startswith("pretrain."):
        search, name = arm.pretrain_search, field.removeprefix("pretrain.")
        return name if search and is_searched(arm.pretrain) and name in search.space else ""
    if path != ADAPTED:
        return searched_name(experiment, field) if arm.sweep.trials and field != path else ""
    name = field.removeprefix("evaluate.")
    return name if name in experiment.sweep.space and arm.sweep.trials and field != path else ""


def changed_problems(experiment: Experiment, changed: Iterable[Keys]) -> Problems:
    """Fields that the sweep selects, set by a variant or an override.

    Args:
        changed: keys that these have set.
    """
    # Earlier tasks are trained without a search.
    parts = ("pretrain",) if experiment.evaluate.earlier_tasks else ("evaluate", "pretrain")
    found: Keys | None = None
    for keys in changed:
        path = ".".join(map(str, keys))
        is_within = found and keys[: len(found)] == found
        if is_within or keys[0] not in parts:
            continue
        if name := searched_name(experiment, path):
            found = keys
            yield keys, f"{_unused(path, name)}; sweep=null removes the search"


def _unused(path: str, name: str) -> str:
    return f"{path} has no effect: the sweep searches {name}; remove one of them"


def searched_name(experiment: Experiment, path: str) -> str:
    """The hyperparameter that the sweep selects in place of the field at dotted `path`; empty if
    there is none."""
    if path.startswith("pretrain."):
        search, name = experiment.sweep.pretrain, path.removeprefix("pretrain.")
        return name if search and name in search.names else ""
    space = experiment.sweep.space if experiment.sweep.trials else {}
    name = path.removeprefix("evaluate.").removeprefix("finetune.")
    branches = branches_of(space)
    fields = {field for branch in branches.values() for field in branch}
    if not name.startswith(ADAPTATION):
        return name if name in {*space, *fields} else ""
    if varies_adaptation(experiment):
        return name if name.removeprefix(ADAPTATION_PREFIX) in fields else ""
    return name if branches or name in space else ""


def space_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Searched hyperparameters that an arm does not have or cannot use."""
    space = experiment.sweep.space
    found = [*_field_problems(space, arms)]
    if branches_of(space) and varies_adaptation(experiment):
        found += _own_space_problems(space, [arm for arm in arms if arm.sweep.trials])
    yield from found or trial_problems(experiment, arms)


def _field_problems(space: Space, arms: Sequence[Arm]) -> Problems:
    """Searched fields that the adaptation of an arm does not have, or not with a value."""
    for name, dimension in shared(space).items():
        for arm in arms if name.startswith(ADAPTATION_PREFIX) else ():
            try:
                for value in ends(dimension):
                    _check_searched(arm, name, value)
            except ValueError as error:
                yield ("sweep", "space", name), f"sweep.space.{name}: {error}"
                break


def pretrain_space_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Searched pretraining settings that an arm cannot have, and a search that no arm uses."""
    search = experiment.sweep.pretrain
    if not search:
        return
    searched = [arm for arm in arms if is_searched(arm.pretrain)]
    if arms and not searched:
        yield ("sweep", "pretrain"), "sweep.pretrain: no arm is pretrained; remove it"
    seen: set[str] = set()
    for arm in searched:
        kind = arm.pretrain.optimizer.kind
        if search.optimizers and kind not in search.optimizers:
            yield (
                ("sweep", "pretrain", "optimizers"),
                f"sweep.pretrain.optimizers must have a space for {kind}, the optimizer of "
                f"{arm.name!r}, but has {', '.join(search.optimizers)}",
            )
            return
        run = pretrain_search.trial_run(arm.pretrain, search.budget_fraction)
        for name, why in _untried(search.of(arm.pretrain), run):
            if name not in seen:
                seen.add(name)
                yield (
                    ("sweep", "pretrain", "space", name),
                    f"sweep.pretrain.space of {arm.name!r}: {why}",
                )


def _untried(search: PretrainSearch, run: Pretrain) -> Iterator[tuple[str, str]]:
    """(field, why) for each searched field that makes no difference, or not with each value."""
    for name in search.space:
        if why := unread(run, f"pretrain.{name}"):
            yield name, f"{name} makes no difference between trials: {why}"
    yield from pretrain_search.problems(search, run)


def _branch(arm: Arm, space: Space) -> str | None:
    return branch_of(space, arm.evaluate.adaptation)


def _own_space_problems(space: Space, arms: Sequence[Arm]) -> Problems:
    """Arms and spaces that do not belong to each other, where each arm searches the space of its
    own adaptation."""
    keys: Keys = ("sweep", "space", ADAPTATION)
    known = {arm.name: _branch(arm, space) for arm in arms}
    for arm in arms:
        kind = arm.evaluate.adaptation.kind
        if not known[arm.name]:
            yield (
                keys,
                f"sweep.space.adaptation must have a space for {kind}, the adaptation of "
                f"{arm.name!r}, but has {', '.join(branches_of(space))}; add {kind}",
            )
        elif not arm.sweep.space:
            yield (
                keys,
                f"sweep.space must have something to search for {arm.name!r}, but the space of "
                f"{kind} is empty",
            )
        else:
            yield from _given_and_searched(arm, str(known[arm.name]), own(space, known[arm.name]))
    for branch in branches_of(space):
        if branch not in known.values():
            yield (*keys, branch), f"sweep.space.adaptation.{branch}: no arm has it; remove it"
    sizes = {arm.name: arm.sweep.size for arm in arms if known[arm.name]}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield (
            ("sweep", "trials"),
            "sweep.trials must be the same for all arms, but their grids have fewer points: "
            f"{counts}; set sweep.trials to {min(sizes.values())} or less, or give the arms spaces "
            "of equal size",
        )


def _given_and_searched(arm: Arm, branch: str, searched: Collection[str]) -> Problems:
    """Fields of the adaptation that the grid gives an arm and its space searches."""
    given = arm.changes.get(ADAPTED)
    for field, value in given.items() if isinstance(given, Mapping) else ():
        if f"{branch}.{field}" in searched:
            yield (
                ("sweep", "space", ADAPTATION, branch, field),
                f"sweep.space.adaptation.{branch}.{field} replaces the {field} of {arm.name!r}, "
                f"{value}; remove one of them",
            )


def _check_searched(arm: Arm, name: str, value: Choice) -> None:
    """Raises if the adaptation of an arm does not have a searched field, or not with the value."""
    adaptation, field = arm.evaluate.adaptation, name.removeprefix(ADAPTATION_PREFIX)
    fields = [known for known in type(adaptation).model_fields if known != "kind"]
    if field not in fields:
        known_fields = ", ".join(fields) or "none"
        raise ValueError(
            f"the adaptation {adaptation.kind} of {arm.name!r} has no field {field}; "
            f"known: {known_fields}; for a space of each adaptation: "
            "sweep.space.adaptation: {full: {...}, lora: {rank: [4, 8], ...}}"
        )
    check_tried(type(adaptation), field, value, kind=adaptation.kind)
