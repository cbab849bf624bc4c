"""Printed averages of published tables, checked against their averaging rule."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd

from harness.analysis.averages import AVERAGES, Term
from harness.analysis.columns import combine
from harness.leaderboard.published import as_validation, printed, published_entry
from harness.leaderboard.published_files import CELL
from harness.tasks.task import Column

EXACT = 1e-9


@dataclass(frozen=True)
class Check:
    """A printed average, and the average recomputed from the printed cells."""

    system: str
    rule: str
    printed: str
    recomputed: float
    why: str = ""
    """Why the rule does not reproduce the printed average; empty if it does."""

    @property
    def reproduced(self) -> bool:
        """Whether the recomputed average is within half of the last printed digit."""
        digits = -int(Decimal(self.printed).as_tuple().exponent)
        return abs(self.recomputed - float(self.printed)) <= 0.5 * 10**-digits + EXACT


@cache
def checks(name: str) -> tuple[Check, ...]:
    """All printed averages of a table with a known rule, recomputed from the printed cells.

    Raises:
        ValueError: an unknown table.
    """
    raw = printed(name)
    if published_entry(name)["kind"] != "scores":
        return ()
    averages = raw[(raw["task"] == "average") & raw["metric"].isin(list(AVERAGES))]
    found = []
    for row in averages.itertuples(index=False):
        system = str(getattr(row, system_column(raw)))
        cells = raw[(raw[system_column(raw)] == system) & (raw["task"] != "average")]
        mean = _recomputed(str(row.metric), cells)
        check = Check(system, str(row.metric), str(row.value), mean)
        why = _exceptions(name).get((system, "average"), "")
        found.append(check if check.reproduced else replace(check, why=why))
    return tuple(found)


def without_parts(name: str) -> Iterator[tuple[str, str]]:
    """(task, why) of the averages whose parts no system has."""
    return ((task, why) for (system, task), why in _exceptions(name).items() if not system)


def system_column(raw: pd.DataFrame) -> str:
    """The column with the names of the systems."""
    return str(raw.columns[0])


def _recomputed(rule: str, cells: pd.DataFrame) -> float:
    """The average of printed cells; test splits are used as the dev splits in the rules."""
    values = {
        (task, split if rule == "mean_of_columns" else as_validation(split), metric): float(value)
        for task, split, metric, value in cells[[*CELL, "value"]].itertuples(index=False)
    }
    terms = AVERAGES[rule].terms or tuple(_alone(*cell) for cell in values)
    columns = {
        column: np.array(np.mean([values[column.task, column.split, m] for m in column.metrics]))
        for term in terms
        for column in term
    }
    return float(combine(terms, columns))


def _alone(task: str, split: str, metric: str) -> Term:
    return (Column(name=task, task=task, split=split, metrics=(metric,)),)


def _exceptions(name: str) -> Mapping[tuple[str, str], str]:
    """(system, task) to why its average cannot be reproduced; an empty system means all."""
    rows = printed("exceptions")
    here = rows[rows["table"] == name]
    return {(str(row.system), str(row.task)): str(row.why) for row in here.itertuples(index=False)}
