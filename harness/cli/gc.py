"""`harness gc`: removes the stages that no experiment refers to."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.store import print_kinds


def gc(
    experiments: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="experiment files, or names of shipped ones, whose stages are kept, too",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="remove what is listed")] = False,
    days: Annotated[float, typer.Option(min=0, help="keep what is younger than so many days")] = 14,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Lists stages to which no recorded experiment refers. With --yes, removes them. They include
    the work of unfinished stages, and what interrupted recordings left."""
    from rich.filesize import decimal

    from harness.execution.garbage import find_garbage
    from harness.plan.factory import load_plan

    with options.clear_errors():
        plans = [load_plan(path) for path in experiments or ()]
        kept = set[str]().union(*(plan.stages for plan in plans))
        found = find_garbage(options.opened_store(store), kept, days)
        if not found:
            options.out.print("experiments refer to all stages, or they are too young to remove")
            return
        if found.stages:
            print_kinds(found.stages)
        if found.work:
            options.out.print(f"work folders: {len(found.work)}")
        if found.uncounted:
            options.out.print(f"interrupted recordings and damaged results: {len(found.uncounted)}")
        size = decimal(found.num_bytes)
        if yes:
            found.remove(options.tracked(found.stages))
            options.out.print(f"removed: {size} on this machine")
        else:
            options.out.print(f"{size} on this machine; remove them with --yes")
