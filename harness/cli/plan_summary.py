"""The output of `harness plan`."""

from rich import box
from rich.console import Console
from rich.table import Table

from harness.analysis.power import SeedSpread, power_line
from harness.execution.progress import duration
from harness.experiment.named_values import ROLES
from harness.models.flops import FLOPS_CONVENTION
from harness.plan.costs import Cost, estimated_seconds, pretraining_cost
from harness.plan.differences import condensed, differences_from_first
from harness.plan.plan import Plan
from harness.plan.stage_kinds import STAGE_KINDS

MAX_COLUMNS = 4
"""Maximum number of arms with one column each in the table of differences."""


def print_plan(plan: Plan, console: Console, spread: SeedSpread | None = None) -> None:
    """Prints arms with their cost, differences, stages, statistical power and estimated time.

    Args:
        spread: variance between seeds in earlier results; null: a prior for the suite.
    """
    experiment = plan.experiment
    console.print(f"[bold]{experiment.name}[/bold]: {experiment.question}")
    for comparison in experiment.expect:
        console.print(f"expected: {comparison.better} > {comparison.worse}")
    console.print(_arms(plan))
    console.print(f"FLOPs: {FLOPS_CONVENTION}.")
    console.print(_differences(plan))
    counts = {kind: sum(s.kind == kind for s in plan.stages.values()) for kind in STAGE_KINDS}
    stages = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    console.print(f"{len(plan.stages)} stages: {stages}")
    evaluate = experiment.evaluate
    console.print(
        f"{evaluate.suite_value.name}: {', '.join(evaluate.chosen)}; "
        f"seeds {len(experiment.seeds.pretrain)} x {len(experiment.seeds.finetune)}; "
        f"{experiment.sweep.size} trials for every arm and task"
    )
    for line in (*plan.unsupported_lines, power_line(plan, spread)):
        if line:
            console.print(line, markup=False)
    seconds = estimated_seconds([s.flops for s in plan.stages.values()], num_threads=2)
    console.print(f"about {duration(seconds)} on 2 CPU threads from scratch")


def _arms(plan: Plan) -> Table:
    """Cost of each arm, also as multiples of the first arm's."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("arm", "updates", "tokens", "parameters", "", "FLOPs", ""):
        left = column == "arm"
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    first = plan.costs[plan.arms[0].name]
    for arm in plan.arms:
        table.add_row(arm.name, *_cost(plan.costs[arm.name], first))
        for role in ROLES:
            other = getattr(arm.pretrain, role)
            if other:
                table.add_row(f"  {role}", *_cost(pretraining_cost(other), first))
        if cost := plan.total_continued_cost(arm.name):
            table.add_row("  continued pretraining", *_cost(cost, first))
    return table


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
        reason = "axis" if path in plan.declared else "recipe"
        table.add_row(path, reason, *(str(values[arm.name]) for arm in plan.arms))
    return table


def _differences_from_first(plan: Plan, table: Table) -> Table:
    arms = [arm.name for arm in plan.arms]
    table.add_column("arm", no_wrap=True)
    table.add_column(f"differences from {arms[0]}; (r): set by the recipe")
    for arm, fields in differences_from_first(plan.differences, arms).items():
        texts = [
            f"{path.removeprefix('pretrain.')} = {value}"
            + ("" if path in plan.declared else " (r)")
            for path, value in fields
        ]
        table.add_row(arm, "; ".join(texts))
    return table
