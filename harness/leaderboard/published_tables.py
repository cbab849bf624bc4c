"""Published tables as printed in their papers: one row per system, columns with unit, split and
metric, and printed averages with the recomputed ones."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from harness.analysis.averages import AVERAGES
from harness.leaderboard.cells import MISSING
from harness.leaderboard.column_labels import METRIC_LABELS
from harness.leaderboard.published import (
    attributes,
    cited,
    printed,
    published_entry,
    published_index,
    system_attributes,
    task_attributes,
)
from harness.leaderboard.published_averages import Check, checks, system_column, without_parts
from harness.leaderboard.published_files import CELL
from harness.leaderboard.text_tables import TextTable

UNITS = {
    "masked_lm_loss": "masked-LM loss, lower is better",
    "average": "mean of scores x 100",
    "accuracy": "percent",
    "exact_match": "percent",
    "exact_match_groups": "percent",
    "bleu_intl": "BLEU, 0 to 100",
    "parity": "percent",
}
"""Metric to unit; other metrics and averages are scores x 100."""
SCORE_UNIT = "score x 100"


def find_published(words: str) -> str:
    """The full name of a published table.

    Args:
        words: the name, or words of it in any order that no other table has together (`bert-glue`
            for `glue_test_bert`).

    Raises:
        ValueError: no table matches, or more than one.
    """
    names = [str(name) for name in published_index().index]
    given = words.replace("-", "_").lower()
    if given in names:
        return given
    found = [name for name in names if set(given.split("_")) <= set(name.split("_"))]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{words!r} matches several published tables: {', '.join(found)}")
    raise ValueError(f"unknown published table {words!r}; known: {', '.join(names)}")


def published_list() -> TextTable:
    """List of all published tables."""
    rows = printed("index")[["table", "kind", "title", "citation"]].to_numpy().tolist()
    return TextTable(["table", "kind", "title", "source"], rows, range(4), "Published tables")


def published_text_tables(name: str) -> tuple[TextTable, TextTable]:
    """A published table as printed, with checked averages, and a table that describes its columns.

    Raises:
        ValueError: an unknown table.
    """
    entry, raw = published_entry(name), printed(name)
    wide = _wide(name, raw) if entry["kind"] == "scores" else raw
    checked = [f"{check.system}: {check.why}." for check in checks(name) if not check.reproduced]
    notes = [
        f"Source: {cited(entry)}.",
        *([f"Protocol: {entry['protocol']}."] if entry["protocol"] else []),
        *([f"Not comparable with measured rows: {entry['apart']}"] if entry["apart"] else []),
        *([f"Unit: {entry['unit']}."] if entry["unit"] else []),
        *_rules(name),
        *(f"Average not reproduced: {line}" for line in checked),
        *(f"{task} (average): {why}." for task, why in without_parts(name)),
        f"Compared with the paper: {entry['checked']}.",
        *([f"{entry['notes'].rstrip('.')}."] if entry["notes"] else []),
    ]
    texts = [i for i, column in enumerate(wide) if not _is_numeric(wide[column])]
    table = TextTable([*wide], wide.to_numpy().tolist(), texts, entry["title"], notes)
    return table, _columns_table(name)


def published_frame(name: str) -> pd.DataFrame:
    """A published table in long form, one row per cell.

    Columns: attributes of the system, `task`, `split`, `metric`, `value`, `unit`; for averages the
    `recomputed` one, whether it is `reproduced` (yes or no) and `why` not; `protocol`, `source`,
    how the table was `checked` against it, and the value as `printed`. Tables without scores are
    returned as they are, with their `source`.

    Raises:
        ValueError: an unknown table.
    """
    entry, raw = published_entry(name), printed(name)
    if entry["kind"] != "scores":
        return raw if "source" in raw else raw.assign(source=cited(entry))
    made = {(check.system, check.rule): check for check in checks(name)}
    cells = zip(raw[system_column(raw)], raw["metric"], strict=True)
    found = [made.get(cell) for cell in cells]
    return raw.assign(
        value=raw["value"].astype(float),
        unit=raw["metric"].map(unit),
        recomputed=[check.recomputed if check else np.nan for check in found],
        protocol=entry["protocol"],
        source=cited(entry),
        reproduced=[_yes_or_no(check) for check in found],
        why=[check.why if check else "" for check in found],
        checked=entry["checked"],
        printed=raw["value"],
    )


def _yes_or_no(check: Check | None) -> str:
    """Whether an average is reproduced; empty for cells that are not checked."""
    return "" if check is None else ("yes" if check.reproduced else "no")


def unit(metric: str) -> str:
    """The unit of a metric."""
    return UNITS.get(metric, SCORE_UNIT)


def _wide(name: str, raw: pd.DataFrame) -> pd.DataFrame:
    """One row per system, one column per task, split and metric, as printed; averages with the
    recomputed ones."""
    keys = system_attributes(raw)
    spread = raw["value"] + (" ± " + raw["sd"] if "sd" in raw else "")
    labels = _labels(raw)
    long = raw.assign(value=spread, label=[labels[cell] for cell in _cells(raw)])
    wide = long.set_index([*keys, "label"])["value"].unstack("label")
    order = long[keys].drop_duplicates()
    table = wide.reindex(index=pd.MultiIndex.from_frame(order), columns=[*labels.values()])
    table = table.fillna(MISSING).reset_index()
    found = {check.system: check for check in checks(name)}
    if found:
        systems = [found.get(system) for system in table[system_column(raw)]]
        table["recomputed"] = [f"{c.recomputed:.2f}" if c else "" for c in systems]
        table["reproduced"] = [_yes_or_no(c) for c in systems]
    return table


def _columns_table(name: str) -> TextTable:
    """Description of each column: meaning, unit and split."""
    raw, known = printed(name), printed("columns").query("table == @name").set_index("column")
    scores = published_entry(name)["kind"] == "scores"
    rows = [
        [str(column), str(known.at[column, "meaning"]), str(known.at[column, "unit"]), ""]
        for column in (attributes(raw) if scores else raw)
        if column in known.index
    ]
    if scores:
        of_tasks = raw.groupby("task")[task_attributes(raw)].first()
        for cell, label in _labels(raw).items():
            task, split, metric = cell
            facts = [f"{field} {value}" for field, value in of_tasks.loc[task].items() if value]
            rows.append([label, "; ".join([metric, *facts]), unit(metric), split])
    head = ["column", "meaning", "unit", "split"]
    return TextTable(head, rows, range(4), "Columns")


def _cells(raw: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    return raw[CELL].itertuples(index=False, name=None)


def _labels(raw: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """(task, split, metric) to the head of its column, with the split if the task has several."""
    splits = raw.groupby("task")["split"].nunique()
    return {
        (task, split, metric): f"{task}{f' {split}' if splits[task] > 1 else ''} "
        f"({METRIC_LABELS.get(metric, metric)})"
        for task, split, metric in dict.fromkeys(_cells(raw))
    }


def _rules(name: str) -> list[str]:
    rules = dict.fromkeys(check.rule for check in checks(name))
    return [
        f"Average {rule}: {AVERAGES[rule].formula}. It is recomputed from the printed cells, and "
        "reproduced if within half of the last printed digit."
        for rule in rules
    ]


def _is_numeric(values: pd.Series) -> bool:
    """Whether all cells of a printed column are numbers."""
    return bool(values.str.fullmatch(rf"(-?[\d.]+( ± [\d.]+)?|{MISSING})?").all())
