"""`harness store`: what is in a store, where, and how large."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli import options

if TYPE_CHECKING:
    from harness.store.store import StageResult


def store(store: options.StoreFolder = options.DEFAULT_STORE) -> None:
    """Shows what is in a store, and where. Lists stages by kind, with the size of their files."""
    from rich.filesize import decimal

    from harness.store.artifacts import folder_size
    from harness.store.cache import cache_folder, limit_bytes

    with options.clear_errors():
        found = options.opened_store(store)
        options.out.print(f"store: {found.place}")
        print_kinds(list(found.finished().values()))
        work = list((found.root / "work").glob("*/state"))
        unfinished = decimal(sum(folder_size(path.parent) for path in work))
        names = ", ".join(sorted(found.experiments())) or "none"
        options.out.print(f"experiments: {names}")
        options.out.print(f"imported results: {len(found.imports())}")
        options.out.print(f"unfinished stages: {len(work)}, {unfinished}")
        cache = cache_folder()
        if cache.exists():
            size, limit = decimal(folder_size(cache)), decimal(int(limit_bytes()))
            options.out.print(f"downloads in {cache}: {size} of at most {limit}")


def print_kinds(results: "Sequence[StageResult]") -> None:
    """Prints the number, size and duration of finished stages by kind; sizes are those of files on
    this machine."""
    from rich.filesize import decimal

    from harness.execution.contents import by_kind
    from harness.execution.time_left import duration

    rows = [
        [one.kind, f"{one.number:,}", decimal(one.num_bytes), duration(one.seconds)]
        for one in by_kind(results)
    ]
    options.print_table(["kind", "stages", "files here", "took"], rows, right=1)
