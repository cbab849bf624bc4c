"""What the commands share: arguments and options, consoles, exit codes, errors in one line."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from harness.execution.backends import BACKENDS

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


Experiment = Annotated[
    Path,
    typer.Argument(
        help="experiment file (YAML), or the name of a shipped one",
        show_default=False,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="override a field; recorded with the run"),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="apply a variant that the file declares"),
]
StoreFolder = Annotated[
    Path, typer.Option("--store", envvar="HARNESS_STORE", help="folder of the results")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="stages at a time [default: CPU cores; 1 with a GPU]")
]


def _executor(name: str) -> str:
    if name not in BACKENDS:
        raise typer.BadParameter(f"must be one of {', '.join(BACKENDS)}, but is {name}")
    return name


Executor = Annotated[
    str,
    typer.Option(
        callback=_executor,
        help=" | ".join(BACKENDS),
        autocompletion=lambda: list(BACKENDS),
    ),
]
DEFAULT_STORE = Path("runs")
BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130


def counted(things: Sequence[Any]) -> Iterable[Any]:
    """Goes through `things` under a bar, on a terminal."""
    from rich.progress import track

    return track(things, "", console=err, transient=True, disable=not err.is_terminal)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Bad input ends in one clear line and exit code 2, never in a traceback."""
    try:
        yield
    except ValueError as error:
        err.print(str(error), style="red", markup=False)
        raise typer.Exit(BAD_INPUT) from None
    except BrokenPipeError:  # of `| head`, which has seen enough
        raise
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        err.print(f"{name}{error.strerror or error}", style="red", markup=False)
        raise typer.Exit(BAD_INPUT) from None
