"""`harness leaderboard`: measured tables and published ones."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import DEFAULT_STORE, Overrides, StoreFolder, Variants, clear_errors

if TYPE_CHECKING:
    from harness.leaderboard.render import Format as Form
    from harness.leaderboard.table import Table


class Format(StrEnum):
    """How a table is written."""

    md = "md"
    csv = "csv"
    html = "html"
    latex = "latex"


def leaderboard(
    name: Annotated[
        str | None,
        typer.Argument(help="experiment file, a board such as glue, a suite, or a published table"),
    ] = None,
    format: Annotated[Format, typer.Option(help="how to write the table")] = Format.md,
    average: Annotated[
        str | None, typer.Option(help="averaging rule [default: the suite's]")
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="a published table; without a name: which there are")
    ] = False,
    tag: Annotated[str | None, typer.Option(help="of a board: experiments with this tag")] = None,
    size: Annotated[str | None, typer.Option(help="of a board: arms of this size")] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="UNIT=NUMBER", help="of a board: arms of this budget")
    ] = None,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """The table of an experiment, of every experiment in the store on a board's suite, or of a
    paper."""
    from harness.leaderboard.render import render

    with clear_errors():
        if published and (average or any((tag, size, budget, set_, variant))):
            raise ValueError("--published takes a name and --format alone: a paper is as printed")
        if published:
            text = _published(name, format.value)
        elif name is None:
            raise ValueError("name an experiment file or a board, or ask for --published tables")
        else:
            changes = (set_ or (), variant or ())
            table = _measured(name, average, (tag, size, budget), changes, store)
            text = render(table, format.value)
        print(text.rstrip("\n"))


def _published(name: str | None, format: "Form") -> str:
    from harness.leaderboard.published_tables import (
        find_published,
        published_frame,
        published_list,
        published_text_tables,
    )
    from harness.leaderboard.text_tables import render_text_tables

    if name is None:
        return render_text_tables([published_list()], format)
    table = find_published(name)
    if format == "csv":
        return published_frame(table).to_csv(index=False, lineterminator="\n").rstrip()
    return render_text_tables(published_text_tables(table), format)


def _measured(
    name: str,
    average: str | None,
    taken: tuple[str | None, str | None, str | None],
    changes: tuple[Sequence[str], Sequence[str]],
    store: Path,
) -> "Table":
    if Path(name).suffix not in (".yaml", ".yml"):
        from harness.leaderboard.board_filter import BoardFilter
        from harness.leaderboard.boards import board_table
        from harness.store.store import Store

        if any(changes):
            raise ValueError("--set and --variant need an experiment file, not a board")
        return board_table(name, Store(store), average, BoardFilter(*taken) if any(taken) else None)
    if any(taken):
        raise ValueError("--tag, --size and --budget go with a board: an experiment names its arms")
    from harness.study import Study

    return Study.load(Path(name), changes[0], store, changes[1]).table(average)
