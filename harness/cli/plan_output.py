"""The output of `harness plan`, and of `harness plan --resolved`."""

import json
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.analysis.look_power import looks_line
from harness.analysis.power import SeedSpread, power_line
from harness.core.counting import number_of
from harness.execution.outlook import Outlook
from harness.execution.rekeyed import Rekeyed, rekeyed_lines
from harness.execution.time_left import duration
from harness.experiment.arms import choices
from harness.experiment.declaration import Declaration
from harness.experiment.messages import shown as value_text
from harness.experiment.recipe_defaults import ROLES, is_of_size
from harness.experiment.resolution import (
    ResolvedField,
    arm_fields,
    experiment_fields,
    is_given,
)
from harness.models.flops import FLOPS_CONVENTION
from harness.plan.corpora import corpus_lines
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.differences import (
    condensed,
    differences_from_first,
    is_of_checkpoint,
    is_set_by,
    is_within,
    kind_holder,
    shown,
)
from harness.plan.plan import Plan
from harness.tasks.summary import summary
from harness.tasks.task import FileData, PluginData

MAX_COLUMNS = 4
"""Maximum number of arms with one column each in the table of differences."""
MAX_WIDTH = 100
"""Maximum width of the list of an arm's differences, in characters: where the output is not a
terminal, lines have no end."""
BY_USER = ("axis", "arms", "axis, arms", "base")
"""What sets a field that the experiment declares."""


def print_plan(known: Outlook, console: Console, spread: SeedSpread | None = None) -> None:
    """Prints arms with their cost, differences, stages, statistical power, estimated time and
    warnings.

    Args:
        spread: variance between seeds in earlier results; null: a prior for the suite.

    Raises:
        ValueError: a file of a task does not match its declaration.
    """
    plan, experiment = known.plan, known.plan.experiment
    console.print(Text.assemble((experiment.name, "bold"), f": {experiment.question}"))
    for comparison in experiment.expectations:
        console.print(f"expected: {comparison.declared_as}")
    for change in _variants(plan.declaration):
        console.print(change)
    console.print(_arms(plan))
    console.print(f"FLOPs: {FLOPS_CONVENTION}. {_vocabulary(plan)}")
    if plan.differences:
        console.print(_differences(plan))
    console.print(plan.stages_line)
    evaluate = experiment.evaluate
    console.print(
        f"{evaluate.suite_value.name}: {', '.join(evaluate.chosen)}; "
        f"seeds {len(experiment.seeds.pretrain)} x {len(experiment.seeds.finetune)}"
        f"{', a world each' if experiment.seeds.in_worlds else ''}; "
        f"{_trials(plan)}"
    )
    if plan.searches:
        console.print(f"search: {plan.search_line}")
    if before := experiment.sweep.pretrain:
        of_arms = before.line(arm.pretrain for arm in plan.arms)
        console.print(f"search of pretraining: {of_arms}")
    tasks = evaluate.chosen.values()
    own = [summary(task) for task in tasks if isinstance(task.data, FileData | PluginData)]
    power = (power_line(plan, spread), looks_line(plan))
    for line in (*corpus_lines(plan), *own, *power, known.estimate.line):
        if line:
            console.print(line)
    if known.rekeyed:
        console.print(_rekeyed(known.rekeyed))
    if missing := plan.checkpoints_to_fetch:
        console.print(f"downloaded when the experiment runs: {', '.join(missing)}")
    print_warnings(known.warnings, console)


def _rekeyed(found: Sequence[Rekeyed]) -> str:
    spent = duration(sum(one.seconds for one in found))
    lines = "".join(f"\n- {line}" for line in rekeyed_lines(found))
    return (
        f"computed again after a change: {number_of(len(found), 'stage')} ({spent}); "
        f"'harness adopt' keeps what was computed before, if the change does not matter:{lines}"
    )


def _variants(declaration: Declaration) -> Iterator[str]:
    """`variant large: pretrain.size 'nano' -> 'tiny'`, of each variant that was applied."""
    varied = declaration.source.varied if declaration.source else {}
    for name, fields in varied.items():
        changes = (
            f"{path} {' -> '.join('unset' if one is None else value_text(one) for one in both)}"
            for path, both in fields.items()
        )
        yield f"variant {name}: {'; '.join(changes) or 'changes nothing'}"


def _trials(plan: Plan) -> str:
    search = next(iter(plan.searches.values()), None)
    if search is None:
        return "no search"
    each = ", task and pretraining seed" if search.seeds else " and task"
    joint = [arm for arm in plan.arms if arm.name in plan.searches and arm.evaluate.multitask]
    together = (
        f", for {', '.join(arm.name for arm in joint)} on all tasks together" if joint else ""
    )
    return f"{search.size} trials for every arm{each}{together}"


def print_warnings(warnings: Sequence[str], console: Console) -> None:
    """Prints warnings, a line each."""
    for line in warnings:
        console.print(f"warning: {line}", style="yellow")


def _arms(plan: Plan) -> Table:
    """Cost of each arm, also as multiples of the first arm's."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("arm", "updates", "tokens", "parameters", "", "FLOPs", ""):
        left = column == "arm"
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    first = plan.costs[plan.arms[0].name]
    for arm in plan.arms:
        size = plan.vocab_sizes.get(arm.name)
        show = _of_checkpoint if arm.pretrain.model.checkpoint else _cost
        each = f" (each of {arm.networks} networks)" if arm.networks > 1 else ""
        table.add_row(f"{arm.name}{each}", *show(plan.costs[arm.name], first))
        for role in ROLES:
            other = getattr(arm.pretrain, role)
            if other:
                table.add_row(f"  {role}", *_cost(pretraining_cost(other, size), first))
        if cost := plan.total_continued_cost(arm.name):
            table.add_row("  continued pretraining", *_cost(cost, first))
    return table


def _of_checkpoint(cost: Cost, first: Cost) -> tuple[str, ...]:
    """The cells of a checkpoint: what its pretraining took is not known."""
    count = cost.parameters
    shown = (f"{count:,}", _multiple(count, first.parameters)) if count else ("-", "")
    return ("-", "-", *shown, "-", "")


def _vocabulary(plan: Plan) -> str:
    """The vocabulary with which parameters and FLOPs are counted."""
    sizes = {arm: f"{size:,}" for arm, size in plan.vocab_sizes.items()}
    trained = [arm.name for arm in plan.arms if not arm.pretrain.model.checkpoint]
    if not trained:
        return ""
    if not sizes:
        return "Vocabulary: as declared; a small corpus may fill less."
    if len(sizes) == len(trained) and len(set(sizes.values())) == 1:
        return f"Vocabulary: {next(iter(sizes.values()))} entries, as learned."
    named = ", ".join(f"{arm} {size}" for arm, size in sizes.items())
    rest = "" if len(sizes) == len(trained) else "; others as declared"
    return f"Vocabulary: {named} entries, as learned{rest}."


def _cost(cost: Cost, first: Cost) -> tuple[str, ...]:
    if cost.parameters is None:
        return ("-", "-", "-", "", "-", "")
    return (
        _number(cost.steps),
        _number(cost.tokens),
        f"{cost.parameters:,}",
        _multiple(cost.parameters, first.parameters),
        "time-limited" if cost.flops is None else f"{cost.flops:.2e}".replace("e+", "e"),
        _multiple(cost.flops, first.flops),
    )


def _number(value: int | None) -> str:
    return "time-limited" if value is None else f"{value:,}"


def _multiple(value: float | None, first: float | None) -> str:
    return f"{value / first:.2f}x" if value and first else ""


def _differences(plan: Plan) -> Table:
    """A row per field; with many arms, a row per arm with its differences from the first."""
    table = Table(box=box.SIMPLE_HEAD, title="what differs between arms", title_justify="left")
    if len(plan.arms) > MAX_COLUMNS:
        return _differences_from_first(plan, table)
    table.add_column("field", no_wrap=True)
    table.add_column("set by", no_wrap=True)
    for arm in plan.arms:
        table.add_column(arm.name)
    for path, values in condensed(plan.differences):
        table.add_row(path, _reason(path, plan), *(shown(values[arm.name]) for arm in plan.arms))
    return table


def _reason(path: str, plan: Plan) -> str:
    """What sets the field: an axis, `arms`; the base, where an arm has no such field; or the
    recipe, the checkpoint or a small size."""
    if any(is_within(declared, path) for declared in plan.declared):  # of a whole nested run
        return _setters(path, plan)
    if is_given(plan.declaration, path):
        return "base"
    if path.startswith("evaluate.") or "pretrain.recipe" not in plan.differences:
        return "checkpoint" if is_of_checkpoint(path, plan.differences) else "size"
    values = plan.differences.get(path, {})  # none for a whole nested run
    having = [arm for arm in plan.arms if values.get(arm.name) is not None]
    causes = {"size" if is_of_size(path, arm.pretrain) else "recipe" for arm in having}
    return " or ".join(sorted(causes)) or "recipe"


def _setters(path: str, plan: Plan) -> str:
    """What sets a declared field: `axis`, `arms` or both."""
    grid, own = plan.experiment.grid, plan.experiment.arms
    of_axes = (sets for axis in grid.items() for _, sets in choices(*axis))
    setters = {"axis": of_axes, "arms": own.values()}
    names = [
        setter
        for setter, bundles in setters.items()
        if any(_is_setter(name, path) for sets in bundles for name in sets)
    ]
    return ", ".join(names)


def _is_setter(given: str, path: str) -> bool:
    """Whether a change of the field `given` sets that at `path`, by its kind or within it."""
    return is_set_by(path, given) or is_within(given, path) or is_within(path, kind_holder(given))


def _differences_from_first(plan: Plan, table: Table) -> Table:
    arms = [arm.name for arm in plan.arms]
    table.add_column("arm", no_wrap=True)
    title = f"differences from {arms[0]}; (r): set by recipe, checkpoint or size"
    table.add_column(title, max_width=MAX_WIDTH)
    by_user = {path for path, _ in condensed(plan.differences) if _reason(path, plan) in BY_USER}
    for arm, fields in differences_from_first(plan.differences, arms).items():
        texts = [
            f"{path.removeprefix('pretrain.')} = {shown(value)}"
            + ("" if path in by_user else " (r)")
            for path, value in fields
        ]
        table.add_row(arm, "; ".join(texts))
    return table


def print_resolved(declaration: Declaration, console: Console) -> None:
    """Prints the fields of the experiment, those that all arms share, and those of each arm."""
    arms = {arm.name: arm_fields(declaration, arm) for arm in declaration.arms}
    shared = set.intersection(*(set(map(_key, fields)) for fields in arms.values()))
    first = next(iter(arms.values()))
    _print("experiment", experiment_fields(declaration), console)
    _print("every arm", [field for field in first if _key(field) in shared], console)
    for name, fields in arms.items():
        _print(f"arm {name}", [field for field in fields if _key(field) not in shared], console)


def _print(title: str, fields: Sequence[ResolvedField], console: Console) -> None:
    if not fields:
        return
    lines = [(f"{f.path}: {json.dumps(f.value, ensure_ascii=False)}", f.origin) for f in fields]
    width = min(max(len(text) for text, _ in lines), 72)
    console.print(f"# {title}")
    for text, origin in lines:
        console.print(f"{text:{width}}  # {origin}")


def _key(field: ResolvedField) -> tuple[str, str, str]:
    return field.path, json.dumps(field.value, sort_keys=True), field.origin
