"""Checks of the trials of a search: each arm can have the values of its space, also together."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from pydantic import ValidationError

from harness.experiment.arms import Arm
from harness.experiment.checks.finetuning import settings_problems
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.experiment.yaml_reader import Keys
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.compatibility import too_small
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.space import (
    ADAPTATION,
    Choice,
    branch_of,
    branches_of,
    ends,
    own,
    shared,
)
from harness.finetuning.settings_compatibility import outputs_problems

Point = Mapping[str, Choice]
"""Hyperparameter to value."""


def trial_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Values that an arm cannot have, or not with a value of another hyperparameter; the first of
    each place in the space."""
    seen: set[Keys] = set()
    for arm in arms:
        for keys, message in _of_arm(experiment, arm):
            if keys not in seen:
                seen.add(keys)
                yield keys, message


def _of_arm(experiment: Experiment, arm: Arm) -> Problems:
    space = arm.sweep.space if arm.sweep.trials else {}
    common = {name: one for name, one in shared(space).items() if name != ADAPTATION}
    for branch in branches_of(space) or ("",):
        known = ADAPTATIONS[branch] if branch else arm.evaluate.adaptation
        tried = {name: ends(one) for name, one in {**common, **own(space, branch)}.items()}
        for point in _points(tried):
            why = _problem(arm, known, point)
            name = _cause(arm, known, point, why) if why else ""
            if name or (why and branch):  # others are declared, and reported where they are
                yield _placed(experiment, arm, name, branch, why)


def _points(tried: Mapping[str, Sequence[Choice]]) -> Iterator[Point]:
    """Each value, and each pair of two hyperparameters, beside the first values of the others."""
    first = {name: values[0] for name, values in tried.items()}
    yield first
    for names in (*((name,) for name in tried), *combinations(tried, 2)):
        for values in product(*(tried[name] for name in names)):
            yield first | dict(zip(names, values, strict=True))


def _problem(arm: Arm, known: Adaptation, point: Point) -> str:
    """Why an arm cannot be fine-tuned with the hyperparameters of a trial; empty if it can."""
    fields = type(known).model_fields
    split = {name: name.rpartition(".") for name in point}
    names = [name for name, (prefix, _, field) in split.items() if prefix and field in fields]
    tried = known.model_copy(update={split[name][2]: point[name] for name in names})
    update = {split[name][2]: point[name] for name in point if name not in names}
    try:
        settings = Finetune.model_validate({**dict(arm.evaluate.finetune), **update})
    except ValidationError as error:
        return f"finetune.{error.errors()[0]['msg'].removeprefix('Value error, ')}"
    protocol, tasks = arm.evaluate.protocol, arm.evaluate.chosen.values()
    problems = (
        *settings_problems(arm, settings, tried),
        *outputs_problems(settings, tasks, protocol),
    )
    return next(iter(problems), "") or too_small(protocol, tried, arm.adapted)


def _cause(arm: Arm, known: Adaptation, point: Point, why: str) -> str:
    """The last hyperparameter without which a trial does not have a problem, as the declared value
    is in its place; empty if there is none."""
    for name in reversed([*point]):
        if _problem(arm, known, {other: point[other] for other in point if other != name}) != why:
            return name
    return ""


def _placed(experiment: Experiment, arm: Arm, name: str, branch: str, why: str) -> tuple[Keys, str]:
    """A problem with its place: a hyperparameter of all trials, or an adaptation with a space of
    its own."""
    space = experiment.sweep.space
    if name in space:
        return ("sweep", "space", name), f"sweep.space.{name}: {arm.name!r}: {why}"
    branch = branch or str(branch_of(space, arm.evaluate.adaptation))
    keys = ("sweep", "space", ADAPTATION, branch)
    return keys, f"sweep.space.adaptation: {branch} of {arm.name!r}: {why}"
