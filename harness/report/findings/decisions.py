"""How often small experiments order arms as larger ones do, in all reports."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.statistics.decisions import Decisions
from harness.report.sections.decisions import COLUMNS, LevelDecisions

DECISIONS = "decisions.csv"
MIN_PAIRS = 3
"""Pairs of a level below which the board omits it: two arms make one pair, which shows little."""


@dataclass(frozen=True)
class ReportDecisions:
    """A level of an axis beside its last one, in a report."""

    report: str
    """Folder of the report below that of all reports."""
    level: LevelDecisions


def read_decisions(reports: Path) -> list[ReportDecisions]:
    """The decisions of all reports below a folder, of levels with MIN_PAIRS or more.

    Raises:
        ValueError: a file has other columns, or no number where one must be.
    """
    return [
        ReportDecisions(str(file.parent.relative_to(reports)), one)
        for file in sorted(reports.rglob(DECISIONS))
        for one in _read(file)
        if one.found.pairs >= MIN_PAIRS
    ]


def _read(file: Path) -> list[LevelDecisions]:
    reader = csv.DictReader(file.read_text(errors="replace").splitlines())
    if list(reader.fieldnames or ()) != COLUMNS:
        raise ValueError(f"{file}: the columns must be {', '.join(COLUMNS)}")
    try:
        return [_level(row) for row in reader]
    except (ValueError, TypeError, csv.Error) as error:
        raise ValueError(f"{file}: a line does not have the values of its columns") from error


def _level(row: Mapping[str, str]) -> LevelDecisions:
    pairs, alike, settled, settled_alike = (int(row[name]) for name in COLUMNS[3:7])
    if not 0 <= settled_alike <= settled <= pairs or not settled_alike <= alike <= pairs:
        raise ValueError("the numbers of pairs contradict each other")
    one_seed = float(row["one_seed"] or "nan")
    found = Decisions(pairs, alike, settled, settled_alike, one_seed)
    return LevelDecisions(row["along"], row["level"], row["of"], found)
