"""A plan in words: what `harness plan` prints."""

from rich import box
from rich.console import Console
from rich.table import Table

from harness.budget import FLOPS_CONVENTION
from harness.plan import Plan, estimated_seconds
from harness.progress import duration
from harness.tasks import SUITES

KINDS = ("tokenizer", "tokens", "pretrain", "tune", "finetune")


def print_plan(plan: Plan, console: Console) -> None:
    """Arms with their cost, what differs, stages, and the time to expect."""
    experiment = plan.experiment
    console.print(f"[bold]{experiment.name}[/bold]: {experiment.question}")
    for comparison in experiment.expect:
        console.print(f"expected: {comparison.better} > {comparison.worse}")
    console.print(_arms(plan))
    console.print(f"FLOPs by {FLOPS_CONVENTION}.")
    console.print(_differences(plan))
    counts = {kind: sum(s.kind == kind for s in plan.stages.values()) for kind in KINDS}
    stages = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    console.print(f"{len(plan.stages)} stages: {stages}")
    evaluate = experiment.evaluate
    console.print(
        f"{evaluate.suite}: {', '.join(evaluate.tasks or SUITES[evaluate.suite].tasks)}; "
        f"seeds {len(experiment.seeds.pretrain)} x {len(experiment.seeds.finetune)}; "
        f"{experiment.sweep.trials} trials for every arm and task"
    )
    seconds = estimated_seconds(plan, list(plan.stages), workers=2)
    console.print(f"roughly {duration(seconds)} on 2 CPU threads if nothing is done yet")


def _arms(plan: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("arm", "updates", "tokens", "parameters", "FLOPs"):
        table.add_column(column, justify="left" if column == "arm" else "right")
    for arm in plan.arms:
        cost = plan.costs[arm.name]
        table.add_row(
            arm.name,
            f"{cost.steps:,}",
            f"{cost.tokens:,}",
            f"{cost.parameters:,}",
            f"{cost.flops:.2e}",
        )
    return table


def _differences(plan: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="what differs between arms", title_justify="left")
    table.add_column("field", no_wrap=True)
    table.add_column("because", no_wrap=True)
    for arm in plan.arms:
        table.add_column(arm.name)
    for path, values in plan.differences.items():
        reason = "axis" if path in plan.declared else "recipe"
        table.add_row(path, reason, *(str(values[arm.name]) for arm in plan.arms))
    return table
