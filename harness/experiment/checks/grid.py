"""Checks of the grid, its arms, and what the experiment expects of them."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from harness.core.config import unknown_name
from harness.core.names import LOOKALIKES, check_name
from harness.experiment.arms import (
    Arm,
    arm_name,
    choices,
    combinations,
    value_label,
)
from harness.experiment.checks.axis_fields import axis_fields, axis_paths, fields_within
from harness.experiment.expectation import Both, Comparison, Expectation, RankAgreement
from harness.experiment.experiment import Axis, Experiment
from harness.experiment.outcomes import (
    AVERAGE,
    GAP,
    LOSSES,
    QUANTITIES,
    quantities_of,
    reached_level,
)
from harness.experiment.recipe_defaults import NAMED
from harness.experiment.yaml_reader import Keys
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.probes.columns import probe_columns

MAX_ARMS = 10_000
_PATH = re.compile(r"(pretrain|evaluate)(\.\w+)+")
FIXED_FIELDS = ("evaluate.suite", "evaluate.tasks", "evaluate.predict_test")
"""Fields that no axis may vary."""

SIGNS = (">", "<", " - ", " = ")
"""Signs of expectations, which no label may contain."""
LABEL_ADVICE = "; give it a label: {label: {field: value}}"

Problems = Iterator[tuple[Keys, str]]
"""(keys, message) of each problem."""


def axis_problems(grid: Mapping[str, Axis]) -> Problems:
    """Problems of the axes, and of axes that set the same field."""
    for axis, values in grid.items():
        yield from _values(axis, values)
        for keys, path in axis_paths(axis, values):
            yield from _path(keys, path)
    yield from _shared_fields(grid)
    size = math.prod(len(values) for values in grid.values())
    if size > MAX_ARMS:
        counts = " x ".join(str(len(values)) for values in grid.values())
        yield (
            ("grid",),
            f"the grid must have at most {MAX_ARMS:,} arms, but has {counts} = {size:,}",
        )


def _shared_fields(grid: Mapping[str, Axis]) -> Problems:
    """Fields that two axes set, by themselves or within a mapping; the first place of each."""
    owners: dict[str, str] = {}
    found: set[tuple[str, str]] = set()
    for axis, values in grid.items():
        for keys, path, value in axis_fields(axis, values):
            for field in fields_within(path, value):
                if owners.setdefault(field, axis) != axis and (field, axis) not in found:
                    found.add((field, axis))
                    yield keys, f"{field} is set by two axes, {owners[field]} and {axis}; keep one"


def _values(axis: str, values: Axis) -> Problems:
    yield from _named(("grid", axis), "an axis", axis)
    if not values:
        yield ("grid", axis), f"the axis {axis} must have at least one value, but has none"
    if isinstance(values, Mapping):
        for label in values:
            yield from _named(("grid", axis, label), "a label", label)
            yield from _signs(("grid", axis, label), "a label", label)
        return
    seen: dict[str, int] = {}
    for number, value in enumerate(values):
        text = json.dumps(value)
        if text in seen:
            yield ("grid", axis, number), f"the axis {axis} has the value {text} twice"
        label = value_label(axis, value)
        yield from _named(("grid", axis, number), f"the label of {text}", label, LABEL_ADVICE)
        yield from _signs(("grid", axis, number), f"the label of {text}", label, LABEL_ADVICE)
        seen[text] = number


def _signs(keys: Keys, what: str, label: str, advice: str = "") -> Problems:
    """The signs of expectations in a label."""
    for sign in (sign for sign in SIGNS if sign in label):
        yield keys, f"{what} must not contain {sign!r}, but is {label!r}{advice}"


def _named(keys: Keys, what: str, name: str, advice: str = "") -> Problems:
    """The problem of a name that does not follow the rule of names."""
    try:
        check_name(name)
    except ValueError as error:
        yield keys, f"{what} {error}{advice}"


def _path(keys: Keys, path: str, setter: str = "an axis") -> Problems:
    if path in FIXED_FIELDS or path.startswith("evaluate.suite."):
        yield keys, f"{path} must be the same for all arms, or their scores cannot be compared"
    elif not _PATH.fullmatch(path):
        hint = "for example pretrain.objective.sentence_pair"
        if path.split(".")[0] in Pretrain.model_fields:
            hint = f"did you mean 'pretrain.{path}'?"
        yield (
            keys,
            f"{setter} must set a dotted path below pretrain or evaluate, but sets {path!r}; "
            f"{hint}",
        )


def arms_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Arms with equal names or equal settings."""
    names: dict[str, Arm] = {}
    values: dict[object, Arm] = {}
    for arm in arms:
        # The name of the recipe has no effect if the experiment sets all its fields.
        value = (arm.pretrain.model_copy(update={"recipe": ""}), arm.evaluate)
        twin = values.setdefault(value, arm)
        look = names.setdefault(arm.name.translate(LOOKALIKES), arm)
        if look is not arm and look.name != arm.name:
            yield (
                ("grid",),
                f"the arms {look.name!a} and {arm.name!a} must have names that look different",
            )
        elif look is not arm:
            yield ("grid",), f"two arms are named {arm.name!r}; give their values different labels"
        elif twin is not arm:
            axis = next(axis for axis in arm.labels if arm.labels[axis] != twin.labels[axis])
            keys = origin(experiment.grid, axis, arm.labels[axis])
            yield keys, f"the arms {twin.name!r} and {arm.name!r} are identical; remove one"


def arm_names(experiment: Experiment) -> list[str]:
    """The names of all arms, valid or not; none of a grid that is too large."""
    if math.prod(map(len, experiment.grid.values())) > MAX_ARMS:
        return []
    return [arm_name(experiment, labels) for labels, _ in combinations(experiment.grid)]


def expectation_problems(experiment: Experiment, knows_outcomes: bool = True) -> Problems:
    """Expectations about unknown arms or outcomes, and those that contradict each other.

    Args:
        knows_outcomes: whether `evaluate` is the user's, not the default in place of an invalid
            one.
    """
    names, outcomes = dict.fromkeys(arm_names(experiment)), _outcomes(experiment)
    earlier: set[tuple[str, str, str]] = set()
    for keys, expected in declared_expectations(experiment):
        where = ".".join(map(str, keys[:-1]))
        for arm in expected.arms:
            if names and arm not in names:
                yield keys, f"{where}: " + unknown_name("the arm", arm, names)
        for unknown in _unknown_outcomes(experiment, expected, outcomes) if knows_outcomes else ():
            yield keys, f"{where}: {unknown}"
        for arm in expected.cancelled:
            yield keys, f"{where}: '{expected}' must compare different arms; {arm} cancels out"
        for part in _comparisons(expected):
            better, worse, outcome = part.better, part.worse, part.outcome
            if better != worse and (worse, better, outcome) in earlier:
                yield keys, f"{where}: '{expected}' contradicts an earlier expectation; keep one"
            earlier.add((better, worse, outcome))


def _comparisons(expected: Expectation) -> Sequence[Comparison]:
    """The comparisons of two arms that an expectation states."""
    if isinstance(expected, Both):
        return expected.parts
    return (expected,) if isinstance(expected, Comparison) else ()


def declared_expectations(experiment: Experiment) -> Iterator[tuple[Keys, Expectation]]:
    """The keys of each expectation, and it."""
    for number, expected in enumerate(experiment.expect):
        yield ("expect", number), expected
    for name, several in experiment.claims.items():
        for number, expected in enumerate(several):
            yield ("claims", name, number), expected


def _outcomes(experiment: Experiment) -> list[str]:
    """What an expectation may be about."""
    probes = probe_columns(experiment.evaluate.probes)
    return [AVERAGE, *QUANTITIES, *_columns(experiment), *probes]


def _unknown_outcomes(
    experiment: Experiment, expected: Expectation, known: Sequence[str]
) -> Iterator[str]:
    """The problems of outcomes that the experiment does not have."""
    what, names, outcomes = "the outcome", known, [expected.outcome]
    if isinstance(expected, RankAgreement):
        outcomes = [*expected.by]
    elif reached := reached_level(expected.outcome):
        what, outcomes = "the score", [reached.score]
        names = [name for name in known if name not in QUANTITIES]
        if reached.amount != "tokens":  # probes are not fine-tuned
            names = [AVERAGE, *_columns(experiment)]
    elif _is_gap(experiment, expected.outcome):
        return
    yield from (unknown_name(what, one, names) for one in outcomes if one not in names)


def _is_gap(experiment: Experiment, outcome: str) -> bool:
    """Whether it is one column, probe or quantity minus another that it can be compared with."""
    parts = outcome.split(GAP)
    if len(parts) != 2:
        return False
    if measured := quantities_of(outcome):
        return len({one.unit for one in measured}) == 1 and not set(parts) & set(LOSSES)
    alike = [_columns(experiment), list(probe_columns(experiment.evaluate.probes))]
    return any(set(parts) <= set(names) for names in alike)


def _columns(experiment: Experiment) -> list[str]:
    evaluate = experiment.evaluate
    return [one.name for one in evaluate.suite_value.columns if one.task in evaluate.chosen]


def own_field_problems(experiment: Experiment) -> Problems:
    """Fields of `arms`: of unknown arms, or that no arm may change."""
    names = dict.fromkeys(arm_names(experiment))
    for arm, changes in experiment.arms.items():
        if names and arm not in names:
            yield ("arms", arm), f"arms: {unknown_name('the arm', arm, names)}"
        for path in changes:
            yield from _path(("arms", arm, path), path, f"the arm {arm!r}")
            if path in experiment.grid and not isinstance(experiment.grid[path], Mapping):
                yield (
                    ("arms", arm, path),
                    f"{path} must be that of the axis, after whose value the arm {arm!r} is named; "
                    f"change it in grid.{path}",
                )


def base_problems(experiment: Experiment) -> Problems:
    """A base without `pretrain` that no axis replaces, and fields of the base that an axis replaces
    by named values in every arm."""
    is_given = "pretrain" in experiment.model_fields_set
    if not is_given and not any(_sets_pretrain(*axis) for axis in experiment.grid.items()):
        yield (), "pretrain is required, but is not given: neither here nor by an axis in every arm"
    for name in NAMED:
        axis = f"pretrain.{name}"
        values = experiment.grid.get(axis, ())
        named = all(isinstance(value, str) for value in values)
        if values and named and isinstance(experiment.pretrain.get(name), Mapping):
            yield (
                ("pretrain", name),
                f"{axis} has no effect here: the axis {axis} replaces it; remove one of them",
            )


def _sets_pretrain(axis: str, values: Axis) -> bool:
    """Whether every value of an axis sets a field of `pretrain`."""
    paths = [list(sets) for _, sets in choices(axis, values)]
    return all(any(path.startswith("pretrain.") for path in sets) for sets in paths)


def origin(grid: Mapping[str, Axis], axis: str, label: str, path: str | None = None) -> Keys:
    """Keys of the value `label` of an axis.

    Args:
        path: dotted path of a field that the value sets, for the keys of that field.
    """
    values = grid[axis]
    if isinstance(values, Mapping):
        return ("grid", axis, label) if path is None else ("grid", axis, label, path)
    return ("grid", axis, [name for name, _ in choices(axis, values)].index(label))
