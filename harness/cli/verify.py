"""`harness verify`: whether a store is as it was recorded."""

from typing import Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of


def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="mark damaged stages, which are then computed again")
    ] = False,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Compares all files of a store with their digests. Exits with 1 if something is damaged and
    was not repaired."""
    from harness.store import verification

    with options.clear_errors():
        kept = options.opened_store(store)
        finished = kept.finished()
        found = verification.find_damage(kept, options.tracked(list(finished.values())))
        if not found:
            counts = {
                "stage": len(finished),
                "experiment": len(kept.experiments()),
                "imported result": len(kept.imports()),
            }
            listed = ", ".join(number_of(count, noun) for noun, count in counts.items())
            options.out.print(f"intact: {listed} of {kept.place}")
            return
        rows = [[one.name, one.problem, one.place] for one in found]
        options.print_table(["damaged", "problem", "files"], rows)
        rest = verification.repair(kept, found) if repair else found
    if len(rest) < len(found):
        number = len(found) - len(rest)
        options.out.print(f"{number} marked: run their experiments, or import them, again")
    for line in dict.fromkeys(f"{one.name}: {one.repair}" for one in rest if not one.run_id):
        options.out.print(line)
    if any(one.run_id for one in rest):
        options.out.print("mark what can be computed again with --repair")
    if rest:
        raise typer.Exit(options.FAILED)
