"""Differences between arms, condensed for display, and the single-variable contract: arms differ
only in fields set by an axis, or implied by a varied recipe, size or checkpoint."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from harness.core.config import ConfigModel
from harness.data.corpora.sources import MixedCorpus
from harness.experiment.arms import Arm
from harness.experiment.recipe_defaults import POSITIONS
from harness.finetuning.search.space import tried_text
from harness.pretraining.recipes.small_sizes import IMPLIED as BY_SIZE

Differences = Mapping[str, Mapping[str, Any]]
"""Dotted path to {arm: value}."""
NESTED_RUNS = ("pretrain.init_from", "pretrain.teacher")
"""Nested runs. If an arm has none, their fields are not listed for the other arms."""
IMPLIED = {**BY_SIZE, "evaluate.protocol.max_sequence_length": POSITIONS}
"""Field to the fields of `pretrain` that determine it where it is not set."""
OF_FINETUNING = frozenset(path for path in BY_SIZE if path.startswith("evaluate."))
"""Settings that follow from the size of a network and that baselines do not read."""
BUDGET = "pretrain.budget"
SEARCHED = "searched ("
"""Start of the value of a field that is searched."""
_FIELDS_OF_A_CHECKPOINT = (
    *("pretrain.recipe", "pretrain.objective"),
    *(f"pretrain.model.{name}" for name in ("family", "checkpoint", "revision")),
)


def differing_fields(arms: Sequence[Arm]) -> dict[str, dict[str, Any]]:
    """Dotted path to {arm: value}, for each field whose values differ between arms that read it."""
    flat = {
        arm.name: _pretrain_fields(arm) | dict(flat_fields("evaluate", arm.evaluate))
        for arm in arms
    }
    paths = dict.fromkeys(path for fields in flat.values() for path in fields)
    table = {path: {arm: fields.get(path) for arm, fields in flat.items()} for path in paths}
    trained = {arm.name for arm in arms if not arm.is_baseline}
    readers = dict.fromkeys(OF_FINETUNING, trained) if trained else {}
    return {
        path: row
        for path, row in table.items()
        if len({repr(row[arm]) for arm in readers.get(path, row)}) > 1
    }


def _pretrain_fields(arm: Arm) -> dict[str, Any]:
    """Dotted path to value of all fields of a run, or what a search tries of them; of a checkpoint,
    those that identify it."""
    fields = dict(flat_fields("pretrain", arm.pretrain))
    if not arm.pretrain.model.checkpoint:
        space = arm.pretrain_search.space if arm.pretrain_search else {}
        tried = {f"pretrain.{name}": tried_text(found) for name, found in space.items()}
        return fields | {path: f"{SEARCHED}{text})" for path, text in tried.items()}
    return {p: value for p, value in fields.items() if p.startswith(_FIELDS_OF_A_CHECKPOINT)}


def flat_fields(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of each field of a config value, at any depth."""
    if isinstance(value, ConfigModel):
        if isinstance(value, MixedCorpus) and value.order:
            yield f"{prefix}.sources", [*value.sources]
        for name in type(value).model_fields:
            yield from flat_fields(f"{prefix}.{name}", getattr(value, name))
    elif isinstance(value, Mapping) and any(isinstance(v, ConfigModel) for v in value.values()):
        for name, part in value.items():
            yield from flat_fields(f"{prefix}.{name}", part)
    elif isinstance(value, tuple) and value and all(isinstance(v, ConfigModel) for v in value):
        yield prefix, [getattr(item, "label", None) or item.model_dump() for item in value]
    else:
        yield prefix, value


def declared_fields(differences: Differences, arms: Sequence[Arm]) -> frozenset[str]:
    """Paths of the differences that an axis or `arms` sets; where it sets a kind alone, such as
    `evaluate.adaptation.kind`, also those of the fields that another kind lacks."""
    declared = {path for path in differences if is_declared(path, arms)}
    of_kinds = {path for path in differences if _is_of_kind(path, differences, declared)}
    return frozenset(declared | of_kinds)


def _is_of_kind(path: str, differences: Differences, declared: Set[str]) -> bool:
    row, holder = differences[path], path.rpartition(".")[0]
    for kinds in (differences[one] for one in declared if holder == kind_holder(one)):
        lacking = {kinds[arm] for arm, value in row.items() if value is None}
        if lacking - {kinds[arm] for arm, value in row.items() if value is not None}:
            return True
    return False


def kind_holder(path: str) -> str | None:
    """`a.b` of `a.b.kind` or `a.b.source`, which decides what fields `a.b` has; else None."""
    holder, _, name = path.rpartition(".")
    return holder if name in ("kind", "source") else None


def is_declared(path: str, arms: Sequence[Arm]) -> bool:
    """Whether an axis or `arms` sets the field at dotted `path`."""
    given = {name for arm in arms for name in arm.changes}
    return any(is_set_by(path, name) for name in given)


def is_set_by(path: str, given: str) -> bool:
    """Whether a change of the field `given` sets that at dotted `path`: it is the same or within,
    or another unit of the budget, which is replaced as a whole."""
    return is_within(path, given) or (is_within(path, BUDGET) and is_within(given, BUDGET))


def is_within(path: str, holder: str | None) -> bool:
    """Whether a dotted path is that of `holder`, or of a field within it."""
    return holder is not None and (path == holder or path.startswith(f"{holder}."))


def check_contract(differences: Differences, declared: frozenset[str]) -> None:
    """Checks that every difference is declared, or implied by what varies.

    A recipe implies all fields of `pretrain`; a checkpoint, its objective; a nested run that only
    some arms have, its fields; IMPLIED has the fields that a small network's size, text, budget or
    positions determine; the kind of optimizer, the space that is searched.

    Args:
        differences: as `differing_fields` returns them.
        declared: the paths that axes set.

    Raises:
        ValueError: the arms differ in fields that no axis sets.
    """
    undeclared = [
        path
        for path in differences
        if path not in declared
        and not ("pretrain.recipe" in differences and path.startswith("pretrain."))
        and not is_of_checkpoint(path, differences)
        and not _is_of_own_run(path, differences, declared)
        and not _is_implied(path, differences)
        and not _is_searched_by_kind(path, differences)
    ]
    if undeclared:
        fields = ", ".join(f"{path} ({_values(differences[path])})" for path in undeclared)
        raise ValueError(
            f"the arms must differ only in what an axis of the grid sets, but differ in {fields}; "
            "set these fields in pretrain or evaluate, for all arms alike, or in the axis"
        )


def is_of_checkpoint(path: str, differences: Differences) -> bool:
    """Whether a field is of the objective that the checkpoints of the arms were trained with."""
    names = ("pretrain.model.checkpoint", "pretrain.model.revision")
    return path.startswith("pretrain.objective.") and any(name in differences for name in names)


def _values(row: Mapping[str, Any]) -> str:
    """`0.002 in adamw, 0.01 in lamb`: each value with its first arm."""
    first: dict[str, str] = {}
    for arm, value in row.items():
        first.setdefault(shown(value), arm)
    return ", ".join(f"{value} in {arm}" for value, arm in first.items())


def _is_implied(path: str, differences: Mapping[str, Any]) -> bool:
    field = path.removeprefix("pretrain.teacher.").removeprefix("pretrain.init_from.")
    causes = IMPLIED.get(field.removeprefix("pretrain."), ())
    return any(f".{cause}" in varied for cause in causes for varied in differences)


def _is_of_own_run(path: str, differences: Differences, declared: frozenset[str]) -> bool:
    """Whether a field is of a nested run that an axis gives to some arms by a field within it."""
    run = next((run for run in NESTED_RUNS if is_within(path, run)), None)
    if run is None or not any(is_within(one, run) for one in declared):
        return False
    inside = [row for one, row in differences.items() if is_within(one, run)]
    return any(_is_absent(inside, arm) for arm in inside[0])


def _is_searched_by_kind(path: str, differences: Differences) -> bool:
    """Whether a field has the space of each kind of optimizer, as `sweep.pretrain` declares it."""
    kinds = "pretrain.optimizer.kind" in differences and path.startswith("pretrain.optimizer.")
    return kinds and any(str(value).startswith(SEARCHED) for value in differences[path].values())


def condensed(differences: Differences) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(dotted path, {arm: value}) of the differences; a nested run that some arms lack is one."""
    for run in NESTED_RUNS:
        inside = [row for path, row in differences.items() if path.startswith(f"{run}.")]
        without = [arm for arm in (inside[0] if inside else ()) if _is_absent(inside, arm)]
        if without:
            yield run, {arm: None if arm in without else "another run" for arm in inside[0]}
            differences = {p: row for p, row in differences.items() if not p.startswith(run)}
    yield from differences.items()


def _is_absent(rows: Sequence[Mapping[str, Any]], arm: str) -> bool:
    return all(row[arm] is None for row in rows)


def shown(value: Any) -> str:
    """A field's value as text; a dash for null."""
    return "–" if value is None else str(value)


def differences_from_first(
    differences: Differences, arms: Sequence[str]
) -> dict[str, list[tuple[str, Any]]]:
    """Arm to (dotted path, value) of the fields in which it differs from the first arm."""
    first, *others = arms
    rows = list(condensed(differences))
    return {
        arm: [
            (path, values[arm])
            for path, values in rows
            if values[arm] != values[first] and values[arm] is not None
        ]
        for arm in others
    }
