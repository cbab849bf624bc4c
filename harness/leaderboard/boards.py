"""Leaderboards over a whole store: every experiment on a suite, some of their arms, ranks with
ties."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from harness.analysis.comparison.differences import MOST_ROWS, comparer
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.scores import RESULT_COLUMNS
from harness.analysis.frames.stage_files import counts_reader
from harness.exchange.results.imported_rows import with_imports
from harness.leaderboard.build import build, row_names
from harness.leaderboard.published import Board, board_of_suite, load_board
from harness.leaderboard.ranks import TOO_MANY, as_they_stand, with_ties
from harness.leaderboard.table import Table
from harness.models import SIZES
from harness.pretraining.budget import Budget
from harness.store.store import Record, Store
from harness.tasks import SUITES


@dataclass(frozen=True)
class Recorded:
    """An experiment as its latest run left it in the store."""

    name: str
    folder: Path

    @cached_property
    def results(self) -> pd.DataFrame:
        return pd.read_parquet(self.folder / "results.parquet")

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """`experiment` as declared, and `arms` with their resolved `pretrain` and `evaluate`."""
        text = (self.folder / "experiment.yaml").read_bytes()
        spec: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
        return spec


@dataclass(frozen=True)
class Filter:
    """Which arms of a store stand in a table; null and empty take all."""

    tag: str | None = None
    """A tag of the experiment."""
    size: str | None = None
    """A name in `SIZES`."""
    budget: str | None = None
    """`tokens=2_000_000`; arms that train on nothing are taken, too."""

    def __post_init__(self) -> None:
        """Raises ValueError for no such size, or a budget that is not unit=number."""
        if self.size:
            _size(self.size)
        if self.budget:
            _budget(self.budget)

    def __str__(self) -> str:
        given = {"tag": self.tag, "size": self.size, "budget": self.budget}
        return ", ".join(f"{name} {value}" for name, value in given.items() if value)

    def arms(self, experiment: Recorded) -> list[str]:
        """Names of the arms that are taken."""
        if self.tag and self.tag not in experiment.spec["experiment"].get("tags", ()):
            return []
        arms = experiment.spec["arms"].items()
        return [name for name, arm in arms if self._takes(arm["pretrain"])]

    def _takes(self, pretrain: Mapping[str, Any]) -> bool:
        if self.size and pretrain["size"] != _size(self.size):
            return False
        if not self.budget:
            return True
        unit, number = _budget(self.budget)
        spent = {name: value for name, value in pretrain["budget"].items() if value is not None}
        return spent == {unit: number} or not any(spent.values())

    def imported(self, scores: pd.DataFrame) -> pd.DataFrame:
        """The imported scores that are taken: they say their budget in tokens and FLOPs, but
        neither size nor tags."""
        if self.size or self.tag:
            return scores[:0]
        if not self.budget:
            return scores
        unit, number = _budget(self.budget)
        spent = scores.get(f"budget_{unit}", pd.Series(index=scores.index, dtype=float))
        return scores[spent.isin([0, number])]


@dataclass(frozen=True)
class StoredRuns:
    """Rows of a table with their scores and counts (`harness.analysis.comparison.resampling.Scored`)."""

    arms: Sequence[str]
    results: pd.DataFrame
    counts: Callable[[str], Mapping[str, np.ndarray]]


def recorded(store: Store) -> list[Recorded]:
    """Every experiment that was run, by name."""
    return [Recorded(name, folder) for name, folder in sorted(store.experiments().items())]


def board_table(
    name: str,
    store: Store,
    average: str | None = None,
    taken: Filter | None = None,
    experiments: Sequence[Recorded] | None = None,
    records: Mapping[str, Record] | None = None,
) -> Table:
    """A board over every experiment in the store on its suite, published rows beside.

    Args:
        name: a board, or a suite.
        experiments, records: what `recorded` and `Store.finished` give, where they are at hand.

    Raises:
        ValueError: there is no such board, averaging rule, or size; or no arm passes the filter.
    """
    board = _board(name)
    known = recorded(store) if experiments is None else experiments
    frames = [_taken(one, board.suite, taken) for one in known]
    frame = pd.concat([pd.DataFrame(columns=RESULT_COLUMNS), *frames], ignore_index=True)
    if taken and frame.empty and any((one.results["suite"] == board.suite).any() for one in known):
        raise ValueError(f"no arm on {board.suite} in the store passes {taken}")
    table = build(frame, board.suite, average or board.average, published=board.published)
    table = tied(table, frame, store, records, _paired(known, frame))
    names = set(frame["experiment"])
    specs = (one.spec for one in known if one.name in names)
    return with_imports(table, store, specs, taken.imported if taken else None)


def _paired(known: Sequence[Recorded], frame: pd.DataFrame) -> Callable[[str, str], bool]:
    """Whether two rows of a board start from the same checkpoints: their pretraining is the same,
    field by field."""
    rows = frame.assign(row=row_names(frame)).drop_duplicates("row").set_index("row")
    experiments = {one.name: one for one in known}

    def pretrain(row: str) -> Any:
        experiment, arm = rows.loc[row, ["experiment", "arm"]]
        return experiments[str(experiment)].spec["arms"][arm]["pretrain"]

    return lambda first, second: bool(pretrain(first) == pretrain(second))


def tied(
    table: Table,
    scores: pd.DataFrame,
    store: Store,
    records: Mapping[str, Record] | None = None,
    paired: Callable[[str, str], bool] = lambda first, second: False,
) -> Table:
    """`table` with ranks that arms share which the counts in the store do not tell apart; as it is,
    with the reason, where they cannot say.

    Args:
        scores: the results that the table was built of.
        records: what `Store.finished` gives, where it is at hand.
        paired: whether two rows start from the same checkpoints.
    """
    if not table.rows:
        return table
    if len(table.rows) > MOST_ROWS:
        return as_they_stand(table, TOO_MANY)
    named = scores.assign(arm=row_names(scores))
    records = records or store.finished(named["key"].unique())
    if missing := set(named["key"]) - set(records):
        return as_they_stand(table, f"{len(missing)} runs are no longer in the store")
    counts = cache(counts_reader(records, store))
    runs = StoredRuns([row.name for row in table.rows], named, counts)
    try:
        return with_ties(table, comparer(arm_runs(runs, table), table, paired))
    except ValueError as error:
        return as_they_stand(table, str(error))


def _board(name: str) -> Board:
    """The board of this name, or on the suite of this name."""
    if found := board_of_suite(name):
        return found
    if name in SUITES:
        return Board(name=name, title=name, suite=name, average=SUITES[name].average)
    return load_board(name)


def _taken(experiment: Recorded, suite: str, taken: Filter | None) -> pd.DataFrame:
    rows = experiment.results[experiment.results["suite"] == suite]
    return rows[rows["arm"].isin(taken.arms(experiment))] if taken else rows


def _size(name: str) -> dict[str, Any]:
    if name not in SIZES:
        raise ValueError(f"unknown size {name!r}; known: {', '.join(SIZES)}")
    return SIZES[name].model_dump(mode="json")


def _budget(text: str) -> tuple[str, float]:
    units = tuple(Budget.model_fields)
    unit, _, number = text.partition("=")
    try:
        if unit in units and 0 <= float(number) < math.inf:
            return unit, float(number)
    except ValueError:
        pass
    raise ValueError(f"a budget must be one of {', '.join(units)} = a number from 0, not {text!r}")
