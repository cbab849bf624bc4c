"""`harness site`: a static site of the store."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_STORE, StoreFolder, clear_errors, counted, out


def site(
    folder: Annotated[Path | None, typer.Option("--out", help="default: site in the store")] = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes a static site: leaderboards and reports of the store, and the published tables."""
    from harness.core.files import output_folder
    from harness.report.site.build import build_site
    from harness.store.store import Store

    with clear_errors():
        wanted = output_folder(folder) if folder else None
        found = Store(store)
        page = build_site(found, wanted or found.root / "site", counted)
        out.print(f"{page}", markup=False)
