"""`harness site`: a static web site of the store."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_STORE, StoreFolder, clear_errors, out, tracked


def site(
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder [default: site in the store]")
    ] = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes a static web site with leaderboards, reports and published tables."""
    from harness.core.files import output_folder
    from harness.report.site.build import build_site
    from harness.store.store import Store

    with clear_errors():
        target = output_folder(folder) if folder else None
        results = Store(store)
        page = build_site(results, target or results.root / "site", tracked)
        out.print(f"{page}", markup=False)
