"""A leaderboard table, independent of the output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from harness.analysis.averages import Average
from harness.analysis.columns import SuiteColumns
from harness.analysis.statistics.signal import Signal
from harness.core.rounding import one_decimal
from harness.leaderboard.column_labels import METRIC_LABELS
from harness.leaderboard.quantity_columns import QuantityColumn
from harness.tasks.metrics import METRICS
from harness.tasks.task import Column, Suite

SPREAD_NOTE = (
    "Scores x 100: mean ± standard deviation, {}; – means missing. Seeds: pretraining x "
    "fine-tuning. Chance: the best prediction that ignores the input. Ceiling: the highest "
    "possible score, limited by noise in the labels, or human performance."
)
SPREAD = "over all runs"
SPREADS = "in a column over all its runs, in the average over pretraining seeds"
DETERMINISTIC = "deterministic"
"""Shown instead of numbers of seeds for baselines without randomness."""
DETERMINISTIC_NOTE = (
    "Baselines marked deterministic use no random seeds: all runs have equal scores."
)
NO_AVERAGES = "No row has an average, as none has scores in all of its columns."
IMPORTED = "Imported"
"""Kind of a block of imported rows."""
MEASURED_SPLIT = "validation"
"""Split of most measured rows: the public dev sets, matched and mismatched ones included."""


@dataclass(frozen=True)
class Score:
    """A mean over seeds x 100: 84.6 is an accuracy of 0.846."""

    mean: float
    sd: float | None = None
    """Sample standard deviation; null for less than two values."""
    best: bool = False
    """Whether the row is in the first rank of its column, and some other row is not."""
    seeds: int | None = None
    """Pretraining seeds that have it, of an average in all its columns; null if unknown."""


@dataclass(frozen=True)
class Row:
    """One arm, one published system or one reference level."""

    name: str
    scores: tuple[Score | None, ...]
    """One per column; null if incomplete."""
    average: Score | None
    """Null unless all columns of the average are there."""
    rank: int | None = None
    """From 1 among measured rows; null for other rows and without an average. `Table.ranking` says
    whether arms that do not differ significantly share a rank."""
    pretrain_seeds: int = 0
    finetune_seeds: int = 0
    """Largest number of fine-tuning seeds of one pretraining seed and column."""
    rank_interval: tuple[int, int] | None = None
    """Places that the row may have at 95 % confidence, jointly for all rows; null if unknown."""
    deterministic: bool = False
    """Whether its runs use no random seeds."""

    @property
    def seed_counts(self) -> tuple[int | None, int | None]:
        """Numbers of pretraining and fine-tuning seeds; null if there are none."""
        none = self.deterministic or not self.pretrain_seeds
        return (None, None) if none else (self.pretrain_seeds, self.finetune_seeds)

    @property
    def seeds(self) -> str:
        """Pretraining x fine-tuning seeds."""
        if self.deterministic:
            return DETERMINISTIC
        return f"{self.pretrain_seeds} x {self.finetune_seeds}" if self.pretrain_seeds else ""


@dataclass(frozen=True)
class Published:
    """Published or imported rows in the columns of a measured table."""

    table: str
    """Name in the index of published tables."""
    source: str
    split: str
    """Dev and test are never mixed."""
    protocol: str
    rows: tuple[Row, ...]
    kind: str = "Published"
    """Or IMPORTED."""
    citation: str = ""
    """The source in short, shown beside each row: `Devlin et al. 2019, table 1`."""
    reason: str = ""
    """Why the rows are not comparable with the measured ones; empty if they are."""

    @property
    def comparable(self) -> bool:
        """Whether the rows are comparable with the measured rows."""
        return not self.reason


@dataclass(frozen=True)
class Table:
    """A leaderboard: measured rows by rank, reference levels, published rows."""

    layout: SuiteColumns
    rows: tuple[Row, ...]
    references: tuple[Row, ...] = ()
    """Reference levels such as chance."""
    published: tuple[Published, ...] = ()
    protocol: str = ""
    """Fine-tuning protocol of the measured rows, in one line."""
    quantities: tuple[QuantityColumn, ...] = ()
    """Columns after the seeds."""
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Measured row to column to the reason why its cell is empty."""
    row_notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Measured row to the notes at which its mark points."""
    facets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Measured row to the properties by which the site filters it."""
    signals: Mapping[str, Signal] = field(default_factory=dict)
    """Column, or `average`, to its signal and noise; filled on boards over a store."""
    ranking: str = (
        "Rows with one pretraining seed have no rank. Ranks follow the measured averages, without "
        "significance tests."
    )
    """How ranks are assigned, and what bold means."""

    @property
    def suite(self) -> Suite:
        """The suite that the rows are scored on."""
        return self.layout.suite

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of scores except the average."""
        return self.layout.columns

    @property
    def average(self) -> Average:
        """The averaging rule."""
        return self.layout.average

    @property
    def shows_average(self) -> bool:
        """Whether the average is printed: not beside a single column that it is equal to."""
        return len(self.columns) != 1 or self.layout.terms != (self.columns,)

    def printed_scores(self, row: Row) -> tuple[Score | None, ...]:
        """The printed scores of a row: the average, if it is shown, and the columns."""
        return (row.average, *row.scores) if self.shows_average else row.scores

    def to_frame(self) -> pd.DataFrame:
        """Measured rows: rank, arm, score and `_sd` of each column and the average, seeds. Scores
        are x 100; missing values are NaN."""
        return self._frame(self.rows)

    def _frame(self, rows: Sequence[Row]) -> pd.DataFrame:
        records = []
        for row in rows:
            record: dict[str, object] = {"rank": row.rank, "arm": row.name}
            named = [*zip([c.name for c in self.columns], row.scores, strict=True)]
            for name, score in (*named, ("average", row.average)):
                record[name] = score.mean if score else None
                record[f"{name}_sd"] = score.sd if score else None
            record["pretrain_seeds"], record["finetune_seeds"] = row.seed_counts
            for column in self.quantities:
                record[column.name] = column.mean(row.name)
                if not column.is_counted:
                    record[f"{column.name}_sd"] = column.deviation(row.name)
            records.append(record)
        frame = pd.DataFrame(records)
        whole = ("rank", "pretrain_seeds", "finetune_seeds")
        types = {name: "Int64" if name in whole else float for name in frame if name != "arm"}
        return frame.astype(types)

    def __str__(self) -> str:
        """What `print` shows: the measured rows and the reference levels."""
        frame = self._frame((*self.rows, *self.references))
        return frame.to_string(index=False, na_rep="–", float_format=one_decimal)

    def _repr_html_(self) -> str:
        """What a notebook shows: the measured rows and the reference levels."""
        frame = self._frame((*self.rows, *self.references))
        return frame.to_html(index=False, border=0, na_rep="–", float_format=one_decimal)

    @property
    def has_rank_intervals(self) -> bool:
        """Whether some row has an interval of ranks."""
        return any(row.rank_interval for row in self._all_rows())

    def _all_rows(self) -> list[Row]:
        """The measured, imported and published rows."""
        return [*self.rows, *(row for block in self.published for row in block.rows)]

    @property
    def width(self) -> int:
        """Number of printed columns: those of the suite, the average if it is shown, and rank, arm
        and seeds."""
        return len(self.columns) + self.shows_average + len(self.quantities) + 3

    def notes(self) -> list[str]:
        """The lines under the table."""
        citation = self.suite.citation.rstrip(".")
        rule = f"Average {self.average.name}: {self.average.formula} ({self.average.source})."
        averages = [rule, *([NO_AVERAGES] if self._lacks_averages() else [])]
        return [
            SPREAD_NOTE.format(SPREADS if self.shows_average else SPREAD),
            *([self.ranking] if self.rows or self._has_ranks() else []),
            f"Suite {self.suite.name} ({citation}); splits: {self._splits()}.",
            *(averages if self.shows_average else []),
            *self._metrics(),
            *(column.note for column in self.quantities if column.note),
            *([DETERMINISTIC_NOTE] if any(row.deterministic for row in self.rows) else []),
            f"Protocol: {self.protocol or 'as recorded with each run'}.",
        ]

    def _has_ranks(self) -> bool:
        """Whether a row has a rank, in the average or in a column."""
        scores = (score for row in self._all_rows() for score in (row.average, *row.scores))
        return any(row.rank for row in self._all_rows()) or any(one and one.best for one in scores)

    def _lacks_averages(self) -> bool:
        imported = [block for block in self.published if block.kind == IMPORTED]
        rows = self.rows or [row for block in imported for row in block.rows]
        return bool(rows) and not any(row.average for row in rows)

    def _metrics(self) -> list[str]:
        """The variants of the metrics in the columns."""
        used = dict.fromkeys(metric for column in self.columns for metric in column.metrics)
        notes = [
            f"{METRIC_LABELS.get(name, name)} ({name}): {METRICS[name].note}"
            for name in used
            if name in METRICS and METRICS[name].note
        ]
        return [f"Metrics: {'; '.join(notes)}."] if notes else []

    @property
    def split(self) -> str:
        """Split of the measured rows: the one of all columns, or the public dev sets."""
        return split_of(self.columns)

    def _splits(self) -> str:
        others = [f"{c.name} {c.split}" for c in self.columns if c.split != self.split]
        return "; ".join([self.split, *others])


def split_of(columns: Sequence[Column]) -> str:
    """The split of all columns if they share one, else the public dev sets."""
    splits = {column.split for column in columns}
    return splits.pop() if len(splits) == 1 else MEASURED_SPLIT


def protocol_line(protocol: Mapping[str, Any]) -> str:
    """A protocol in one line: `pooling cls, finetune.epochs 3`."""
    parts = []
    for name, value in protocol.items():
        if isinstance(value, Mapping):
            parts.append(protocol_line({f"{name}.{part}": inner for part, inner in value.items()}))
        else:
            parts.append(f"{name} {'none' if value is None else value}")
    return ", ".join(filter(None, parts))
