"""The comparison of two arms as a value: a frame, and tables of text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.analysis.comparison.differences import AVERAGE, MIN_SEEDS, Differences
from harness.analysis.statistics.seed_limits import seed_note, unseen_note
from harness.core.csv_text import frame_csv
from harness.leaderboard.cells import MISSING, number_cell
from harness.leaderboard.column_labels import column_label
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import Format, TextTable, render_text_tables
from harness.report.arm_tables import value_text
from harness.report.difference_tables import interval, p_cell, points
from harness.report.disagreements.answers import CAVEAT, Flips
from harness.report.two_groups import split_runs

NUMBERS = [
    *("difference", "low", "high", "p_value", "p_holm"),
    *("only_first_right", "only_second_right", "examples"),
]
NOTE = (
    "Scores x 100, means over seeds. 95 % intervals and p are those of the report, of this pair "
    "alone; Holm's correction is over the columns. A dash: an arm has no score, or both arms have "
    "the same runs."
)
NO_FIELDS = "The arms differ in no field."
PROTOCOL_DIFFERS = "The arms differ in protocol, so the difference is also one of"


@dataclass(frozen=True)
class ArmComparison:
    """The first of two arms minus the second. Scores and differences are x 100."""

    names: tuple[str, str]
    table: Table
    """The leaderboard of the two arms."""
    differences: Differences
    """By column, and of the average."""
    holm: Mapping[str, float]
    """Column to p by Holm among all columns; without columns of too few seeds."""
    flips: Mapping[tuple[str, str], Flips]
    """(task, split) to the examples that only one arm answers right; without numeric targets."""
    fields: Mapping[str, Mapping[str, Any]] | None
    """Dotted path to {name: value} of the fields in which the arms differ; null if unknown."""
    protocol: tuple[str, ...] = ()
    """Those of `fields` that belong to the protocol of fine-tuning and that no axis varies."""
    labels: tuple[str, ...] = ()
    """Names for the title, with their experiments if these differ; empty: `names`."""
    notes: tuple[str, ...] = ()
    """Further lines under the differences."""

    def to_frame(self) -> pd.DataFrame:
        """One row for the average and each column: column, the score of each arm, difference, low,
        high, p_value, p_holm, only_first_right, only_second_right, examples. Missing values are
        NaN."""
        rows = []
        for place, column in enumerate([None, *self.table.columns]):
            name = column.name if column else AVERAGE
            found = self.differences[name]
            flips = self.flips.get((column.task, column.split)) if column else None
            counts = (flips.only_first, flips.only_second, flips.examples) if flips else (None,) * 3
            numbers = (
                (found.estimate, found.low, found.high, found.p_value) if found else [None] * 4
            )
            rows.append([name, *self.means(place), *numbers, self.holm.get(name), *counts])
        frame = pd.DataFrame(rows, columns=["column", *self.names, *NUMBERS])
        return frame.astype(dict.fromkeys(frame.columns[1:], float))

    def means(self, place: int) -> tuple[float | None, ...]:
        """The scores of both arms in the average (place 0) or a column (from 1)."""
        rows = {row.name: (row.average, *row.scores) for row in self.table.rows}
        scores = [rows[name][place] for name in self.names]
        return tuple(score.mean if score else None for score in scores)

    def tables(self) -> list[TextTable]:
        """The differences, the flipped examples (if tasks have right answers), the differing fields
        (if they are known)."""
        flips = [_flips(self)] if self.flips else []
        fields = [] if self.fields is None else [_fields(self, self.fields)]
        return [_differences(self), *flips, *fields]

    def render(self, format: Format) -> str:
        """Tables as md, html or latex, or one table of unrounded numbers as csv.

        Raises:
            ValueError: an unknown format.
        """
        if format == "csv":
            return frame_csv(self.to_frame())
        return render_text_tables(self.tables(), format)

    def __str__(self) -> str:
        """What `print` shows."""
        return self.render("md")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.render("html")


def _differences(comparison: ArmComparison) -> TextTable:
    labels = {column.name: column_label(column) for column in comparison.table.columns}
    table, rows = comparison.table, []
    shown = [AVERAGE, *labels]
    for place, name in list(enumerate(shown))[not table.shows_average :]:
        means = [number_cell(mean, "{:.1f}") for mean in comparison.means(place)]
        found, adjusted = comparison.differences[name], comparison.holm.get(name)
        cells = [points(found.estimate), interval(found), p_cell(found.p_value)] if found else []
        cells = [*(cells or [MISSING] * 3), "" if name == AVERAGE else p_cell(adjusted)]
        rows.append([labels.get(name, name), *means, *cells])
    first, second = comparison.names
    head = ["", first, second, "difference", "95 % interval", "p", "p (Holm)"]
    found = comparison.differences[AVERAGE]
    num_seeds = found.num_seeds if found else 0
    few = [num_seeds] if 0 < num_seeds <= MIN_SEEDS else []
    limits = [*map(seed_note, few), *([unseen_note(num_seeds)] if num_seeds > 1 else [])]
    rule = [f"Average {table.average.name}: {table.average.formula}."]
    groups = split_runs([comparison.differences])
    shown_rule = rule if table.shows_average else []
    notes = [*shown_rule, NOTE, *groups, *filter(None, limits), *comparison.notes]
    title = " − ".join(comparison.labels or comparison.names)
    return TextTable(head, rows, title=title, notes=notes)


def _flips(comparison: ArmComparison) -> TextTable:
    first, second = comparison.names
    rows = [
        [
            *(task, split, str(one.only_first), str(one.only_second)),
            *(str(one.examples), p_cell(one.test.p_value if one.test else None)),
        ]
        for (task, split), one in comparison.flips.items()
    ]
    head = ["task", "split", f"only {first} right", f"only {second} right", "of", "p (McNemar)"]
    untested: dict[str, list[str]] = {}
    splits = Counter(task for task, _ in comparison.flips)
    for (task, split), one in comparison.flips.items():
        if not one.test:
            named = f"{task} {split}" if splits[task] > 1 else task
            untested.setdefault(one.untested, []).append(named)
    notes = [CAVEAT, *(f"{', '.join(tasks)}: {why}." for why, tasks in untested.items())]
    return TextTable(head, rows, (0, 1), "Flipped examples", notes)


def _fields(comparison: ArmComparison, fields: Mapping[str, Mapping[str, Any]]) -> TextTable:
    rows = [
        [path, *(value_text(values[name]) for name in comparison.names)]
        for path, values in fields.items()
    ]
    notes = [] if rows else [NO_FIELDS]
    if comparison.protocol:
        notes = [f"{PROTOCOL_DIFFERS}: {', '.join(comparison.protocol)}."]
    return TextTable(["field", *comparison.names], rows, range(3), "Differing fields", notes)
