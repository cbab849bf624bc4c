"""Published tables as their papers print them: one row a system, every column with its unit, split
and metric, and every printed average beside the one that its rule gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd

from harness.leaderboard.averages import AVERAGES, Term, combine
from harness.leaderboard.published import (
    as_validation,
    leaderboards_folder,
    published_entry,
    published_index,
)
from harness.leaderboard.rendering import MISSING
from harness.leaderboard.sheets import Sheet
from harness.leaderboard.tables import METRIC_LABELS
from harness.tasks.task import Column

CELL = ["task", "split", "metric"]
UNITS = {
    "masked_lm_loss": "masked-LM loss, lower is better",
    "average": "mean of scores x 100",
    "accuracy": "percent",
    "exact_match": "percent",
    "exact_match_groups": "percent",
    "em": "percent",
    "bleu": "BLEU, 0 to 100",
    "parity": "percent, as printed",
}
"""Metric to unit; every other one, and every averaging rule, is a score x 100."""
SCORE_UNIT = "score x 100"
EXACT = 1e-9


@dataclass(frozen=True)
class Check:
    """A printed average beside the mean that its rule gives of the printed cells."""

    system: str
    rule: str
    printed: str
    recomputed: float
    why: str = ""
    """Why the rule does not give what is printed; empty where it does."""

    @property
    def reproduced(self) -> bool:
        """Whether the mean lies within half of the last printed digit."""
        digits = -int(Decimal(self.printed).as_tuple().exponent)
        return abs(self.recomputed - float(self.printed)) <= 0.5 * 10**-digits + EXACT


def find_published(words: str) -> str:
    """The name of the published table that `words` names: all of it or, in any order, words of it
    that no other table has together (`bert-glue` is `glue_test_bert`).

    Raises:
        ValueError: no table, or more than one.
    """
    names = [str(name) for name in published_index().index]
    asked = words.replace("-", "_").lower()
    if asked in names:
        return asked
    found = [name for name in names if set(asked.split("_")) <= set(name.split("_"))]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{words!r} may be any of the published tables {', '.join(found)}")
    raise ValueError(f"unknown published table {words!r}; known: {', '.join(names)}")


def published_list() -> Sheet:
    """What published tables there are."""
    index = published_index()
    rows = [
        [str(name), *(str(index.at[name, field]) for field in ("kind", "title", "citation"))]
        for name in index.index
    ]
    head = ["table", "kind", "title", "source"]
    return Sheet("Published tables", head, rows, text_columns=range(4))


def published_sheets(name: str) -> tuple[Sheet, Sheet]:
    """A published table as it is printed, with its averages checked; and what its columns are.

    Raises:
        ValueError: there is none of this name.
    """
    entry, raw = published_entry(name), _raw(name)
    wide = _wide(name, raw) if entry["kind"] == "scores" else raw
    checked = [f"{check.system}: {check.why}." for check in checks(name) if not check.reproduced]
    notes = [
        f"Source: {_source(entry)}.",
        *([f"Protocol: {entry['protocol']}."] if entry["protocol"] else []),
        *_rules(name),
        *(f"Average not reproduced: {line}" for line in checked),
        *(f"{task} (average): {why}." for task, why in _without_parts(name)),
        f"Compared with the paper: {entry['checked']}.",
        *([f"{entry['notes'].rstrip('.')}."] if entry["notes"] else []),
    ]
    texts = [i for i, column in enumerate(wide) if not _is_numeric(wide[column])]
    table = Sheet(entry["title"], [*wide], wide.to_numpy().tolist(), texts, notes)
    return table, _columns_sheet(name)


def published_frame(name: str) -> pd.DataFrame:
    """A published table in long form, one row a cell: what names the system, then `task`, `split`,
    `metric`, `value`, `unit`, for an average `recomputed`, and `protocol` and `source`. Facts stand
    as they are, with their `source`."""
    entry, raw = published_entry(name), _raw(name)
    if entry["kind"] != "scores":
        return raw if "source" in raw else raw.assign(source=_source(entry))
    means = {(check.system, check.rule): check.recomputed for check in checks(name)}
    cells = zip(raw[_system(raw)], raw["metric"], strict=True)
    return raw.assign(
        value=raw["value"].astype(float),
        unit=raw["metric"].map(unit),
        recomputed=pd.Series([means.get(cell, np.nan) for cell in cells], raw.index),
        protocol=entry["protocol"],
        source=_source(entry),
    )


def checks(name: str) -> list[Check]:
    """Every printed average of a table whose rule is known, recomputed from the printed cells."""
    raw = _raw(name)
    if published_entry(name)["kind"] != "scores":
        return []
    averages = raw[(raw["task"] == "average") & raw["metric"].isin(list(AVERAGES))]
    found = []
    for row in averages.itertuples(index=False):
        system = str(getattr(row, _system(raw)))
        cells = raw[(raw[_system(raw)] == system) & (raw["task"] != "average")]
        mean = _recomputed(str(row.metric), cells)
        check = Check(system, str(row.metric), str(row.value), mean)
        why = _exceptions(name).get((system, "average"), "")
        found.append(check if check.reproduced else replace(check, why=why))
    return found


def unit(metric: str) -> str:
    """What the numbers of a metric are in."""
    return UNITS.get(metric, SCORE_UNIT)


@cache
def _raw(name: str) -> pd.DataFrame:
    """The file of a published table, text in every cell."""
    path = leaderboards_folder() / "published" / f"{name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _recomputed(rule: str, cells: pd.DataFrame) -> float:
    """The rule on printed cells; test splits stand for the dev splits that rules name."""
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


def _wide(name: str, raw: pd.DataFrame) -> pd.DataFrame:
    """One row a system, one column a cell, text as printed; averages with what their rule gives."""
    keys = [column for column in _attributes(raw) if column not in _of_tasks(raw)]
    spread = raw["value"] + (" ± " + raw["sd"] if "sd" in raw else "")
    labels = _labels(raw)
    long = raw.assign(value=spread, label=[labels[cell] for cell in _cells(raw)])
    wide = long.set_index([*keys, "label"])["value"].unstack("label")
    order = long[keys].drop_duplicates()
    table = wide.reindex(index=pd.MultiIndex.from_frame(order), columns=[*labels.values()])
    table = table.fillna(MISSING).reset_index()
    found = {check.system: check for check in checks(name)}
    if found:
        systems = [found.get(system) for system in table[_system(raw)]]
        table["recomputed"] = [f"{c.recomputed:.2f}" if c else "" for c in systems]
        table["reproduced"] = [("yes" if c.reproduced else "no") if c else "" for c in systems]
    return table


def _columns_sheet(name: str) -> Sheet:
    """What each column holds: metric, unit, split, or what is said of a system."""
    raw = _raw(name)
    known = _csv("columns")
    known = known[known["table"] == name].set_index("column")
    rows: list[list[str]] = []
    for column in _attributes(raw) if published_entry(name)["kind"] == "scores" else [*raw]:
        if column in known.index:
            said = [str(known.at[column, field]) for field in ("meaning", "unit")]
            rows.append([str(column), *said, ""])
    if published_entry(name)["kind"] == "scores":
        of_tasks = raw.groupby("task")[_of_tasks(raw)].first()
        for cell, label in _labels(raw).items():
            task, split, metric = cell
            said = [f"{field} {value}" for field, value in of_tasks.loc[task].items() if value]
            rows.append([label, "; ".join([metric, *said]), unit(metric), split])
    head = ["column", "what it holds", "unit", "split"]
    return Sheet("Columns", head, rows, text_columns=range(4))


def _attributes(raw: pd.DataFrame) -> list[str]:
    """The columns beside task, split, metric and value."""
    return [str(column) for column in raw if column not in (*CELL, "value", "sd")]


def _system(raw: pd.DataFrame) -> str:
    """The column that names a row."""
    return str(raw.columns[0])


def _of_tasks(raw: pd.DataFrame) -> list[str]:
    """Attributes that say something of a task and not of a system: one value within each task."""
    rest = _attributes(raw)[1:]
    return [column for column in rest if raw.groupby("task")[column].nunique().max() == 1]


def _cells(raw: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    return raw[CELL].itertuples(index=False, name=None)


def _labels(raw: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """(task, split, metric) to the head of its column, which names the split where a task has
    several."""
    splits = raw.groupby("task")["split"].nunique()
    return {
        (task, split, metric): f"{task}{f' {split}' if splits[task] > 1 else ''} "
        f"({METRIC_LABELS.get(metric, metric)})"
        for task, split, metric in dict.fromkeys(_cells(raw))
    }


def _rules(name: str) -> list[str]:
    rules = dict.fromkeys(check.rule for check in checks(name))
    return [
        f"Average {rule}: {AVERAGES[rule].formula}. Recomputed from the printed cells; reproduced "
        "where it is within half of the last printed digit."
        for rule in rules
    ]


def _without_parts(name: str) -> Iterator[tuple[str, str]]:
    """(task, why) of the averages that stand for every system without their parts."""
    return ((task, why) for (system, task), why in _exceptions(name).items() if not system)


def _exceptions(name: str) -> Mapping[tuple[str, str], str]:
    """(system, task) to why its average cannot be reproduced; no system: of none."""
    rows = _csv("exceptions")
    here = rows[rows["table"] == name]
    return {(str(row.system), str(row.task)): str(row.why) for row in here.itertuples(index=False)}


@cache
def _csv(name: str) -> pd.DataFrame:
    path = leaderboards_folder() / "published" / f"{name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _source(entry: Mapping[str, str]) -> str:
    return ", ".join(filter(None, (entry["citation"], entry["printed_in"])))


def _is_numeric(values: pd.Series) -> bool:
    """Whether a printed column is best read from the right."""
    return bool(values.str.fullmatch(rf"(-?[\d.]+( ± [\d.]+)?|{MISSING})?").all())
