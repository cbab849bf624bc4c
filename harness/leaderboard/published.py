"""Boards, and the published tables that they show."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd
import yaml
from pydantic import ValidationError

from harness.analysis.averages import get_average
from harness.core.config import ConfigModel
from harness.core.shipped import shipped_folder
from harness.leaderboard.published_files import CELL, FILES, read_file, read_scores
from harness.tasks import SUITES


class Board(ConfigModel):
    """A leaderboard across experiments: its suite and its published tables."""

    name: str
    title: str
    suite: str
    average: str
    """Name of an averaging rule."""
    published: tuple[str, ...] = ()
    """Names of published tables."""


def leaderboards_folder() -> Path:
    """The folder of boards and published tables: in the installed package, or next to it in a
    checkout.

    Raises:
        FileNotFoundError: in neither place.
    """
    return shipped_folder("leaderboards", "published/index.csv")


def board_names() -> list[str]:
    """Names of all boards."""
    return sorted(path.stem for path in (leaderboards_folder() / "boards").glob("*.yaml"))


def load_board(name: str) -> Board:
    """The board of this name.

    Raises:
        ValueError: an unknown board, or an invalid file.
    """
    if name not in board_names():
        raise ValueError(f"unknown board {name!r}; known: {', '.join(board_names())}")
    path = leaderboards_folder() / "boards" / f"{name}.yaml"
    try:
        board = Board(name=name, **yaml.load(path.read_bytes(), yaml.CSafeLoader))
    except (ValidationError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    if board.suite not in SUITES:
        raise ValueError(f"{path}: unknown suite {board.suite!r}; known: {', '.join(SUITES)}")
    get_average(board.average)
    for table in board.published:
        published_entry(table)
    return board


def board_of_suite(suite: str) -> Board | None:
    """The board of a suite, or null."""
    boards = (load_board(name) for name in board_names())
    return next((board for board in boards if board.suite == suite), None)


@cache
def printed(name: str) -> pd.DataFrame:
    """A published table, or another file of their folder; all cells are text.

    Raises:
        ValueError: the file cannot be read, or a cell is wrong.
    """
    path = leaderboards_folder() / "published" / f"{name}.csv"
    if name in FILES:
        return read_file(path, FILES[name])
    is_scores = published_entry(name)["kind"] == "scores"
    return read_scores(path) if is_scores else read_file(path)


@cache
def published_index() -> pd.DataFrame:
    """Metadata of the published tables, indexed by name; all cells are text.

    Raises:
        ValueError: the index cannot be read, or has a table twice.
    """
    index = printed("index").set_index("table")
    if len(twice := index.index[index.index.duplicated()]):
        raise ValueError(f"the index of published tables must have each once, not {twice[0]} twice")
    return index


def published_entry(name: str) -> dict[str, str]:
    """Metadata of one published table: column of `published_index` to text.

    Raises:
        ValueError: an unknown table.
    """
    index = published_index()
    if name not in index.index:
        raise ValueError(f"unknown published table {name!r}; known: {', '.join(index.index)}")
    return {str(column): str(index.at[name, column]) for column in index.columns}


def cited(entry: Mapping[str, str]) -> str:
    """Paper and place in it of a `published_entry`."""
    return ", ".join(filter(None, (entry["citation"], entry["printed_in"])))


def cited_in_short(entry: Mapping[str, str]) -> str:
    """Authors, year and place of a `published_entry`: `Devlin et al. 2019, table 1`."""
    authors = entry["citation"].partition(",")[0]
    return ", ".join(filter(None, (authors, entry["printed_in"])))


@cache
def published_table(name: str) -> pd.DataFrame:
    """A published table of scores: one row per system, task, split and metric, with its `value`.

    Raises:
        ValueError: an unknown table, or one without scores.
    """
    if published_entry(name)["kind"] != "scores":
        raise ValueError(f"published table {name!r} holds no scores")
    return printed(name).astype({"value": float})


def attributes(table: pd.DataFrame) -> list[str]:
    """The columns of a table of scores other than task, split, metric, value and sd."""
    return [str(column) for column in table if column not in (*CELL, "value", "sd")]


def task_attributes(table: pd.DataFrame) -> list[str]:
    """Attributes of tasks: those with one value per task."""
    rest = attributes(table)[1:]
    return [column for column in rest if table.groupby("task")[column].nunique().max() == 1]


def system_attributes(table: pd.DataFrame) -> list[str]:
    """Attributes of systems, which identify the rows of a printed table; the name comes first."""
    of_tasks = task_attributes(table)
    return [column for column in attributes(table) if column not in of_tasks]


def system_names(table: pd.DataFrame) -> pd.Series:
    """Row of each cell: its system, with as many further attributes as make all rows unique
    (`RoBERTa, + pretrain longer`)."""
    keys = system_attributes(table)
    rows = table[keys].drop_duplicates()
    enough = [n for n in range(1, len(keys)) if not rows[keys[:n]].duplicated().any()]
    return table[keys[: min(enough, default=len(keys))]].agg(", ".join, axis=1)


def as_validation(split: str) -> str:
    """The dev split that corresponds to a published test split."""
    return split.replace("test", "validation", 1)
