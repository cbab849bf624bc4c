"""`harness restore`: the stages of an archive into a store."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of

Changes = tuple[list[str], list[str]]
"""Values of `--set` and `--variant`."""


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
    from harness.exchange.archives.archived_store import archived_plan, restore_archive
    from harness.exchange.archives.read_archive import read_manifest
    from harness.experiment.declaration import load
    from harness.study import Study

    with options.clear_errors():
        changes = options.changes_or_archived(experiment, set_, variant, file)
        study = Study(load(experiment, *changes), store)
        study.plan = archived_plan(study.declaration, read_manifest(file).stages)
        restored = restore_archive(file, study.plan, study.store)
        done, total = study.results.finished, len(study.plan.stages)
    options.out.print(f"{file}: {number_of(len(restored), 'stage')} restored")
    options.out.print(f"{study.name}: {len(done)} of {total} stages are done")
    if not done:
        options.out.print(
            "no stage of the archive is one of the experiment as it is planned now: its "
            "declaration or the version of a stage has changed since"
        )
    elif other := _other_data(experiment, changes, done):
        options.out.print(f"boards show them, but {other}; 'report --archive' needs no data")


def _other_data(experiment: Path, changes: Changes, done: Collection[str]) -> str:
    """Why a run on this machine computes restored stages again; empty if it does not."""
    from harness.plan.factory import load_plan

    try:
        again = set(done) - load_plan(experiment, *changes).stages.keys()
    except ValueError:
        return "'harness run' and 'harness report' need data that are missing here or unreadable"
    if not again:
        return ""
    return (
        f"'harness run' computes {len(again)} of them again, as data differ here (the Hub's and a "
        "mirror's count as two)"
    )
