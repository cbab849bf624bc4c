"""`harness site`: a static web site of the store."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def site(
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder [default: site in the store]")
    ] = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes leaderboards and reports as a static web site. Published tables are on it, too."""
    from harness.core.files import output_folder
    from harness.report.site.build import build_site

    with options.clear_errors():
        target = output_folder(folder) if folder else None
        results = options.opened_store(store)
        page = build_site(results, target or results.root / "site", options.tracked)
        options.out.print(f"{page}")
