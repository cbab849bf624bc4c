"""`harness report`: the comparison report."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def report(
    experiment: options.Experiment,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="folder [default: reports/<name> in the store]")
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            help="file of 'harness archive', whose results are shown; needs no store and no data"
        ),
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes the report as a web page and as markdown. The raw numbers are beside them."""
    from harness.core.files import output_folder
    from harness.exchange.archives.archived_store import archived_stages
    from harness.experiment.declaration import load
    from harness.study import Study

    with options.clear_errors(), ExitStack() as stack:
        folder = output_folder(out_folder) if out_folder else None
        if archive:
            changes = options.changes_or_archived(experiment, set_, variant, archive)
            study = Study(load(experiment, *changes), store)
            found = archived_stages(archive, study.declaration)
            study.plan, study.store = stack.enter_context(found)
        else:
            study = options.load_study(experiment, set_, variant, store)
        written = study.write_report(folder)
        done, total = len(study.results.finished), len(study.plan.stages)
    if done < total:
        what = "in the archive, as the experiment is planned now" if archive else "done"
        options.out.print(f"not finished: {done} of {total} stages are {what}")
    options.out.print(f"{written / 'index.html'}")
