"""`harness archive`: the finished stages of an experiment in one small file."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def archive(
    experiment: options.Experiment,
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.tar.xz",
            help="file [default: stages.tar.xz in reports/<name> of the store]",
        ),
    ] = None,
    hide_texts: Annotated[
        bool,
        typer.Option(
            "--hide-texts",
            help="digests for the texts of labels and predictions, of data that must not be copied",
        ),
    ] = False,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes the finished stages without weights to one file. 'harness report --archive' makes the
    report again from it."""
    from rich.filesize import decimal

    from harness.exchange.archives.manifest import FILE
    from harness.exchange.archives.write_archive import write_archive

    with options.clear_errors():
        study = options.load_study(experiment, set_, variant, store)
        file = out or study.folder / "reports" / study.name / FILE
        write_archive(study.results, file, hide_texts)
        done, total = len(study.results.finished), len(study.plan.stages)
        size = decimal(file.stat().st_size)
    options.out.print(f"{file}: {done} of {total} stages, {size}")
