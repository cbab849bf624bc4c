"""`harness leaderboard`: measured and published tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options

if TYPE_CHECKING:
    from harness.leaderboard.table import Table
    from harness.leaderboard.text_tables import Format as TableFormat


def leaderboard(
    name: Annotated[
        str | None,
        typer.Argument(help="experiment file, a board such as glue, a suite, or a published table"),
    ] = None,
    format: options.TableFormat = options.Format.md,
    average: options.Average = None,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="only this task, with its own average; repeatable"),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="show only these columns, or those of tasks")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="order rows by a column, average, quantity or arm"),
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="also show this, such as perplexity, bits_per_byte or flops; repeatable",
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="a published table; without a name, list them")
    ] = False,
    tag: Annotated[str | None, typer.Option(help="board: only experiments with this tag")] = None,
    size: Annotated[str | None, typer.Option(help="board: only arms of this size")] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="UNIT=NUMBER", help="board: only arms with this budget")
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Prints the table of an experiment, a board or a paper. A board has all experiments of the
    store on a suite."""
    from harness.leaderboard.render import render

    with options.clear_errors():
        filters, changes = (tag, size, budget), (set_, variant)
        shown = (average, task, columns, sort, quantity)
        if published:
            alone = "--published allows only a name and --format; remove the other options"
            options.require(not any((*shown, *filters, *changes)), alone)
            text = _published(name, format.value)
        else:
            table = _measured(name, average, task, quantity or [], filters, changes, store)
            text = render(_selected(table, columns, sort), format.value)
        print(text.rstrip("\n"))


def _published(name: str | None, format: "TableFormat") -> str:
    from harness.core.csv_text import frame_csv
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
        return frame_csv(published_frame(table)).rstrip()
    return render_text_tables(published_text_tables(table), format)


def _measured(
    name: str | None,
    average: str | None,
    tasks: list[str] | None,
    quantities: list[str],
    filters: tuple[str | None, str | None, str | None],
    changes: tuple[list[str] | None, list[str] | None],
    store: Path,
) -> "Table":
    from harness.leaderboard.board_filter import BoardFilter
    from harness.leaderboard.boards import board_table
    from harness.leaderboard.table import IMPORTED
    from harness.store.store import Store

    if name is None:
        raise ValueError("give an experiment file, a board, or --published")
    if options.is_experiment(name):
        needed = "--tag, --size and --budget need a board, but an experiment file is given"
        options.require(not any(filters), needed)
        return options.load_study(Path(name), *changes, store).table(average, tasks, quantities)
    needed = "--set and --variant need an experiment file, but a board is given"
    options.require(not any(changes), needed)
    board_filter = BoardFilter(*filters) if any(filters) else None
    found = Store(store)
    table = board_table(name, found, average, board_filter, tasks, quantities)
    if not (table.rows or any(one.kind == IMPORTED for one in table.published)):
        options.err.print(f"no results on {name} in the store {found.place}")
    return table


def _selected(table: "Table", columns: str | None, sort: str | None) -> "Table":
    from harness.leaderboard.selection import sorted_by, with_columns

    table = sorted_by(table, sort) if sort else table
    return with_columns(table, [name.strip() for name in columns.split(",")]) if columns else table
