"""`harness profile`: where the time of pretraining goes."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, options

if TYPE_CHECKING:
    from harness.execution.profile import Profile

SHOWN_OPERATORS = 10
MEMORY = {"peak_rss_bytes": "process", "peak_gpu_memory_bytes": "GPU"}
"""Names of `harness.core.memory.peak_memory` in words."""


def profile(
    experiment: options.Experiment,
    arm: Annotated[
        str | None,
        typer.Option(help="arm [default: the first that trains]", autocompletion=completion.arms),
    ] = None,
    updates: Annotated[int, typer.Option(min=1, help="updates to measure, after a warmup")] = 50,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write a trace of a few updates for ui.perfetto.dev"),
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Shows where the time of pretraining an arm goes. Trains a few updates, stores nothing, and
    shows speed and memory, too."""
    from rich.text import Text

    from harness.execution.profile import profile_stage
    from harness.execution.profile_inputs import profiled_stage
    from harness.plan.factory import load_plan
    from harness.store.store import Store, existing_store

    with options.clear_errors():
        if trace:
            options.make_folder_of(trace, "--trace")
        plan = load_plan(experiment, set_ or (), variant or ())
        name, stage = profiled_stage(plan, arm)
        is_remote = "MLFLOW_TRACKING_URI" in os.environ
        results = Store(store) if is_remote else existing_store(store)
        with options.err.status("") as status:

            def report(what: str, done: int, total: int) -> None:
                status.update(Text(f"{what}: {done} of {total}" if total else what))
                if not total and not options.err.is_terminal:
                    options.err.print(what)

            found = profile_stage(plan, stage, results, updates, trace, report)
    _print(name, found)
    if trace:
        options.out.print(f"trace: {trace}")


def _print(arm: str, found: "Profile") -> None:
    options.out.print(
        f"{arm}: {found.measured.updates} updates on {found.device}, {found.compute.precision}; "
        f"a run has {found.num_steps:,}",
    )
    _print_parts(found)
    for line in _figures(found):
        options.out.print(line)
    options.print_table(
        ["operator", "calls per update", "ms per update", "share"],
        [
            [one.name, f"{one.calls:,.1f}", _ms(one.seconds), _percent(one.share)]
            for one in found.operators[:SHOWN_OPERATORS]
        ],
        right=1,
    )


def _print_parts(found: "Profile") -> None:
    """Prints the parts of an update and of a run."""
    update, run = found.measured.seconds, found.run_seconds
    of_update, of_run = sum(update.values()), sum(run.values())
    rows = []
    for part, seconds in run.items():
        cells = (
            [_ms(update[part]), _percent(update[part] / of_update)] if part in update else [""] * 2
        )
        rows.append([part, *cells, f"{seconds:,.1f}", _percent(seconds / of_run)])
    rows.append(["total", _ms(of_update), _percent(1), f"{of_run:,.1f}", _percent(1)])
    head = ["part", "ms per update", "of an update", "s per run", "of a run"]
    options.print_table(head, rows, right=1)


def _figures(found: "Profile") -> Iterator[str]:
    """Speed, utilisation and memory, a line each."""
    from harness.models.flops import FLOPS_CONVENTION

    one, peak = found.measured, found.peak_flops
    source = (
        "measured by a product of two large matrices" if found.is_peak_measured else "data sheet"
    )
    yield f"tokens/s: {one.tokens_per_second:,.0f}"
    yield f"FLOPs per token: {one.flops_per_token:.4g} ({FLOPS_CONVENTION})"
    yield (
        f"MFU: {_percent(found.mfu)} = tokens/s x FLOPs per token / peak of {peak / 1e12:.4g} "
        f"TFLOP/s, {source}"
    )
    memory = ", ".join(
        f"{MEMORY[name]} {size / 2**20:,.0f} MiB" for name, size in found.memory.items()
    )
    yield f"peak memory: {memory}"
    yield (
        f"start: {found.imports:.1f} s of imports, once for each worker, and {one.start:.1f} s to "
        f"the first update; storage: {_ms(one.checkpoint)} ms for a checkpoint, "
        f"{_ms(one.saving)} ms for the network"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
