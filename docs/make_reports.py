"""Makes the reports in reports/ again from the archives beside them, and then findings.md, without
computing anything, in a process for each CPU: python docs/make_reports.py [STUDY...]

A STUDY is a folder below reports/, such as pretraining/nsp; without any, all. Lists the reports
without an archive, and ends with exit code 1 if one could not be made.
"""

import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import pandas as pd
from typer.main import get_command

from harness.cli.app import app
from harness.core.cpus import num_cpus
from harness.exchange.archives.manifest import FILE

ROOT = Path(__file__).parents[1]
REPORTS, EXPERIMENTS, BOARD = Path("reports"), Path("experiments"), Path("docs/findings.md")
INDEX = "index.html"
COMMAND = get_command(app)
"""Made once: it takes as long as a tenth of a report."""
IN_MEMORY = Path("/dev/shm")
"""Linux keeps the files of this folder in memory."""
ROOM = 2**30
"""Bytes that must be free there for each process; containers often have 64 MB in all."""


def studies(reports: Path = REPORTS) -> Iterator[Path]:
    """The folders of reports, relative to `reports`, sorted."""
    folders = {file.parent for name in (INDEX, "scores.csv") for file in reports.rglob(name)}
    for folder in sorted(folders):
        yield folder.relative_to(reports)


def make(study: Path) -> bool:
    """Makes the report of a study from its archive; its page only if it has one.

    Returns:
        Whether it could be made; if not, a line says why.
    """
    folder = REPORTS / study
    has_page = (folder / INDEX).exists()
    experiment, archive = EXPERIMENTS / f"{study}.yaml", folder / FILE
    made = called("report", str(experiment), "--archive", str(archive), "--out", str(folder))
    if made and not has_page:
        (folder / INDEX).unlink()
    return made


def timed(study: Path) -> tuple[bool, float]:
    """Whether a report could be made, and in how many seconds."""
    start = time.perf_counter()
    return make(study), time.perf_counter() - start


def prepare() -> None:
    """Prepares a process for many reports."""
    unpack_in_memory()
    # Tables of a report have so few rows that each call of Arrow takes longer than its work.
    pd.set_option("mode.string_storage", "python")


def unpack_in_memory() -> None:
    """Lets archives be unpacked in memory, if there is room and TMPDIR names no other folder: they
    have hundreds of small files, which take longer to remove from a disk than some reports to
    make."""
    may = "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK)
    if may and shutil.disk_usage(IN_MEMORY).free >= num_cpus() * ROOM:
        tempfile.tempdir = str(IN_MEMORY)


def called(*words: str) -> bool:
    """Whether a command of the harness succeeds, in this process: another would import all again.
    Reports print the command that made them."""
    sys.argv = ["harness", *words]
    return not COMMAND.main(list(words), standalone_mode=False)  # null, or the exit code


def main(wanted: Sequence[str]) -> int:
    """Makes the reports that are wanted, or all, and the board.

    Returns:
        The exit code.
    """
    os.chdir(ROOT)
    found = [Path(one) for one in wanted] or list(studies())
    archived = [one for one in found if (REPORTS / one / FILE).is_file()]
    # The largest first: they would be the last to end.
    archived.sort(key=lambda one: (REPORTS / one / FILE).stat().st_size, reverse=True)
    failed: list[Path] = []
    with ProcessPoolExecutor(num_cpus(), initializer=prepare) as pool:
        started = {pool.submit(timed, one): one for one in archived}
        for done in as_completed(started):
            study = started[done]
            if error := done.exception():  # of one report, which must not stop the others
                traceback.print_exception(error)
                failed.append(study)
                continue
            made, seconds = done.result()
            print(f"{study}: {seconds:.1f} s", flush=True)
            failed += [] if made else [study]
        # Last, and in a process that has imported what it needs.
        if not pool.submit(called, "findings", str(REPORTS), "--out", str(BOARD)).result():
            failed.append(BOARD)
    print("without an archive:", ", ".join(str(one) for one in found if one not in archived) or "-")
    print("failed:", ", ".join(map(str, failed)) or "-")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
