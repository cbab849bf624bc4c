"""`harness restore`: the stages of an archive into a store."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of


def restore(
    experiment: options.Experiment,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.tar.xz", help="file of 'harness archive'", show_default=False),
    ],
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Puts the stages of an archive into the store. Reports, boards and comparisons read them; a
    run computes again those whose weights it needs."""
    from harness.exchange.archives.archived_store import restore_archive

    with options.clear_errors():
        changes = options.changes_or_archived(experiment, set_, variant, file)
        study = options.load_study(experiment, *changes, store)
        restored = restore_archive(file, study.plan, study.store)
        done, total = len(study.results.finished), len(study.plan.stages)
    options.out.print(f"{file}: {number_of(len(restored), 'stage')} restored")
    options.out.print(f"{study.name}: {done} of {total} stages are done")
    if not done:
        options.out.print(
            "no stage of the archive is one of the experiment as it is planned here: its "
            "declaration, its data (the Hub's and a mirror's count as two) or the version of a "
            "stage differ; 'harness report --archive' needs no data",
        )
