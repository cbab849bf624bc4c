"""Shared by the subcommands: arguments and options, consoles, exit codes and error handling."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli import completion
from harness.core.secrets import mask
from harness.execution.backends import BACKENDS
from harness.experiment.plugins import error_line

if TYPE_CHECKING:
    from harness.store.store import Store
    from harness.study import Study

WIDE = 10_000
"""Columns of an output that is no terminal: files and pipes get tables uncut."""
PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False, "soft_wrap": True}
"""Of consoles that print text of users as it is, of which `[/INST]` is no markup."""
out = Console(**PLAIN, width=None if sys.stdout.isatty() else WIDE)
err = Console(**PLAIN, stderr=True)

Experiment = Annotated[
    Path,
    typer.Argument(
        help="experiment file (YAML), or name of a shipped one",
        show_default=False,
        autocompletion=completion.experiments,
    ),
]


class Format(StrEnum):
    """The output format of a table."""

    md = "md"
    csv = "csv"
    html = "html"
    latex = "latex"


TableFormat = Annotated[Format, typer.Option("--format", help="output format")]
Average = Annotated[str | None, typer.Option(help="averaging rule [default: the suite's]")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="override a field; recorded with the results; repeatable",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="NAME",
        help="apply a variant declared in the file; repeatable",
        autocompletion=completion.variants,
    ),
]
StoreFolder = Annotated[
    Path, typer.Option("--store", envvar="HARNESS_STORE", help="folder of results")
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="number of parallel stages [default: CPUs, at most 8; fewer on GPUs]"),
]


def _executor(name: str) -> str:
    if name not in BACKENDS:
        raise typer.BadParameter(f"must be one of {', '.join(BACKENDS)}, but is {name}")
    return name


Executor = Annotated[
    str,
    typer.Option(
        callback=_executor,
        help=f"what computes stages: {' | '.join(BACKENDS)}",
        autocompletion=lambda: list(BACKENDS),
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Ray cluster of --executor ray: auto, HOST:PORT or ray://HOST:PORT "
        "[default: RAY_ADDRESS, or a Ray on this machine]"
    ),
]
DEFAULT_STORE = Path("runs")
BAD_INPUT, FAILED = 2, 1


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> None:
    """Prints a table with one line per row, cut at the width of a terminal.

    Args:
        right: columns from this one on hold numbers, if it is not 0.
    """
    lines = list(rows)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, name in enumerate(head):
        side: Literal["left", "right"] = "right" if right and place >= right else "left"
        least = max((len(line[0]) for line in lines), default=0) if place == 0 else None
        table.add_column(name, justify=side, no_wrap=True, min_width=least)
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))
    out.print(table)


def tracked(things: Sequence[Any]) -> Iterable[Any]:
    """`things`, with a progress bar on terminals."""
    from rich.progress import track

    return track(things, "", console=err, transient=True, disable=not err.is_terminal)


def load_study(
    experiment: Path, set_: list[str] | None, variant: list[str] | None, store: Path
) -> "Study":
    """The study of an experiment file with the options of a subcommand.

    Raises:
        ValueError: the file is invalid or data are missing; every problem with its line.
    """
    from harness.study import Study

    return Study.load(experiment, set_ or (), store, variant or ())


def changes_or_archived(
    experiment: Path, set_: list[str] | None, variant: list[str] | None, archive: Path
) -> tuple[list[str], list[str]]:
    """The values of `--set` and `--variant`; without both, those with which an archive was written.

    Raises:
        ValueError: the file is no archive, or names plug-ins that the experiment does not.
    """
    from harness.exchange.archives.read_archive import read_manifest
    from harness.experiment.declared_plugins import named_plugins

    if set_ or variant:
        return list(set_ or ()), list(variant or ())
    manifest = read_manifest(archive)
    own = named_plugins(experiment, (), manifest.variants)
    new = named_plugins(experiment, manifest.overrides, manifest.variants) - own
    require(
        not new,
        f"{archive} was written with plug-ins that {experiment} does not list: "
        f"{', '.join(sorted(new))}; if you trust their code, list them in its field plugins",
    )
    return list(manifest.overrides), list(manifest.variants)


def opened_store(folder: Path) -> "Store":
    """The store in a folder, or on the server that `MLFLOW_TRACKING_URI` names.

    Raises:
        ValueError: there is no such folder.
    """
    from harness.store.store import Store

    found = Store(folder)
    there = found.is_remote or found.root.is_dir()
    require(there, f"there is no store {folder}: run an experiment first, or correct --store")
    return found


def is_experiment(name: str) -> bool:
    """Whether a name is an experiment file or a shipped experiment."""
    from harness.experiment.composition import find

    return Path(name).suffix in (".yaml", ".yml") or find(name, Path()) is not None


def require(condition: bool, message: str) -> None:
    """Checks how options are combined.

    Raises:
        ValueError: with `message`, if the condition does not hold.
    """
    if not condition:
        raise ValueError(message)


def make_folder_of(file: Path, option: str) -> None:
    """Makes the folder of a file that an option names, before the computation whose results go
    there.

    Raises:
        ValueError: it is a folder, or its own folder cannot be written.
    """
    from harness.core.files import output_folder

    require(not file.is_dir(), f"{option} must be a file, but {file} is a folder")
    output_folder(file.parent).mkdir(parents=True, exist_ok=True)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Prints a ValueError, an OSError or an error of a plug-in in the block in place of a
    traceback.

    Raises:
        typer.Exit: with code 2, if there was such an error.
    """
    try:
        yield
    except BrokenPipeError:  # the reader, such as `| head`, has closed the pipe
        raise
    except Exception as error:  # whatever the code of a plug-in raises
        if not (line := error_line(error) or _line(error)):
            raise
        err.print(mask(line), style="red")
        raise typer.Exit(BAD_INPUT) from None


def _line(error: Exception) -> str | None:
    if isinstance(error, OSError):
        return f"{error.filename}: " * bool(error.filename) + (error.strerror or str(error))
    return str(error) if isinstance(error, ValueError) else None
