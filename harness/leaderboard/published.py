"""Boards, and the published tables that stand beside measured rows."""

from functools import cache
from pathlib import Path

import pandas as pd
import yaml
from pydantic import ValidationError

from harness.analysis.averages import get_average
from harness.core.config import ConfigModel
from harness.core.shipped import shipped_folder
from harness.tasks import SUITES

CELL = ["task", "split", "metric"]
"""What a printed number is of, beside the system."""


class Board(ConfigModel):
    """A leaderboard across experiments: a suite, and what stands beside the measured rows."""

    name: str
    title: str
    suite: str
    average: str
    """Name of an averaging rule."""
    published: tuple[str, ...] = ()
    """Names of published tables."""


def leaderboards_folder() -> Path:
    """Where boards and published tables lie: in an installed package, or beside it in a checkout.

    Raises:
        FileNotFoundError: in neither place.
    """
    return shipped_folder("leaderboards", "published/index.csv")


def board_names() -> list[str]:
    """Names of the boards that are there."""
    return sorted(path.stem for path in (leaderboards_folder() / "boards").glob("*.yaml"))


def load_board(name: str) -> Board:
    """The board of this name.

    Raises:
        ValueError: there is none, or its file is wrong.
    """
    if name not in board_names():
        raise ValueError(f"unknown board {name!r}; known: {', '.join(board_names())}")
    path = leaderboards_folder() / "boards" / f"{name}.yaml"
    try:
        board = Board(name=name, **yaml.safe_load(path.read_text(encoding="utf-8")))
    except (ValidationError, TypeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {error}") from None
    if board.suite not in SUITES:
        raise ValueError(f"{path}: unknown suite {board.suite!r}; known: {', '.join(SUITES)}")
    get_average(board.average)
    for table in board.published:
        published_entry(table)
    return board


def board_of_suite(suite: str) -> Board | None:
    """The board on this suite, if there is one."""
    boards = (load_board(name) for name in board_names())
    return next((board for board in boards if board.suite == suite), None)


@cache
def published_index() -> pd.DataFrame:
    """What each published table is; indexed by its name, text in every cell."""
    path = leaderboards_folder() / "published" / "index.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False).set_index("table")


def published_entry(name: str) -> dict[str, str]:
    """The row of `published_index` for one table: column to text.

    Raises:
        ValueError: there is none.
    """
    index = published_index()
    if name not in index.index:
        raise ValueError(f"unknown published table {name!r}; known: {', '.join(index.index)}")
    return {str(column): str(index.at[name, column]) for column in index.columns}


@cache
def published_table(name: str) -> pd.DataFrame:
    """A published table of scores: one row per system, task, split and metric, with its `value`.

    Raises:
        ValueError: there is none, or it holds no scores.
    """
    if published_entry(name)["kind"] != "scores":
        raise ValueError(f"published table {name!r} holds no scores")
    path = leaderboards_folder() / "published" / f"{name}.csv"
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    return text.assign(value=text["value"].astype(float))


def attributes(table: pd.DataFrame) -> list[str]:
    """The columns of a table of scores beside task, split, metric and value."""
    return [str(column) for column in table if column not in (*CELL, "value", "sd")]


def task_attributes(table: pd.DataFrame) -> list[str]:
    """Attributes that say something of a task and not of a system: one value within each task."""
    rest = attributes(table)[1:]
    return [column for column in rest if table.groupby("task")[column].nunique().max() == 1]


def system_attributes(table: pd.DataFrame) -> list[str]:
    """Attributes that tell the rows of a printed table apart, the system first."""
    said = task_attributes(table)
    return [column for column in attributes(table) if column not in said]


def system_names(table: pd.DataFrame) -> pd.Series:
    """The row that each cell stands in: its system, with as many more attributes as tell all rows
    of the table apart (`RoBERTa, + pretrain longer`)."""
    keys = system_attributes(table)
    rows = table[keys].drop_duplicates()
    enough = [n for n in range(1, len(keys)) if not rows[keys[:n]].duplicated().any()]
    return table[keys[: min(enough, default=len(keys))]].agg(", ".join, axis=1)


def as_validation(split: str) -> str:
    """The dev split that stands for a published test split."""
    return split.replace("test", "validation", 1)
