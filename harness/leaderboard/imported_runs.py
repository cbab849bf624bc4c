"""The runs of imported rows, for comparison with others on the same examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.columns import SuiteColumns
from harness.analysis.comparison.resampling import cell_name
from harness.analysis.frames.imported_examples import contents, run_examples, run_names
from harness.analysis.results import stage_counts
from harness.leaderboard.build import row_names
from harness.leaderboard.imported import ImportedBlock
from harness.leaderboard.table import Row
from harness.store.recorded import SCORE_COLUMNS, imported_examples
from harness.store.store import StageResult, Store
from harness.tasks.scores import LABELS, PREDICTIONS, load_predictions

Counts = Mapping[str, np.ndarray]
SAME = np.zeros(1, dtype=np.uint8)
"""Stands for the digest of the labels of examples that no measured run has."""


@dataclass(frozen=True)
class ImportedRuns:
    """Imported rows that can be compared."""

    rows: Mapping[str, Row]
    """By a name that no other row has."""
    scores: pd.DataFrame
    """SCORE_COLUMNS, with the names of `rows` as arms."""
    counts: Mapping[str, Counts]
    """Key of a run to its counts, as `stage_counts` returns them."""

    @classmethod
    def none(cls) -> "ImportedRuns":
        """No rows."""
        return cls({}, pd.DataFrame(columns=SCORE_COLUMNS), {})


def imported_runs(
    blocks: Sequence[ImportedBlock],
    layout: SuiteColumns,
    store: Store,
    measured: pd.DataFrame,
    finished: Mapping[str, StageResult],
) -> ImportedRuns:
    """The rows of blocks that have the counts of all examples, and the examples of the measured
    runs, or of the first imported one where no run is measured.

    Args:
        measured: scores of the measured rows.
        finished: key to the result of each of their runs.
    """
    known = _Examples(store, measured, finished)
    rows, scores, counts = {}, [], {}
    for block in blocks:
        by_name = {row.name: row for row in block.published.rows}
        for name, own in block.scores.groupby(row_names(block.scores), sort=False):
            unique = block.unique(str(name))
            own = own[own["task"].isin({column.task for column in layout.columns})]
            found = _counts(own, imported_examples(store, *_identity(own)), known)
            if found is not None:
                rows[unique] = replace(by_name[str(name)], name=unique)
                keys = f"{unique}/" + run_names(own)
                scores.append(own.assign(arm=unique, key=keys)[SCORE_COLUMNS])
                counts.update({f"{unique}/{run}": of_run for run, of_run in found.items()})
    return ImportedRuns(rows, pd.concat(scores), counts) if rows else ImportedRuns.none()


def _identity(scores: pd.DataFrame) -> tuple[str, str, str]:
    """Source, experiment and arm of the scores of one row."""
    return tuple(scores[["source", "experiment", "arm"]].iloc[0].astype(str))  # type: ignore


def _counts(
    scores: pd.DataFrame, examples: pd.DataFrame, known: "_Examples"
) -> dict[str, Counts] | None:
    """Run to its counts; null if those of a score are unknown, or of other examples."""
    of_run: dict[str, pd.DataFrame] = dict(iter(examples.groupby(run_names(examples))))
    found: dict[str, Counts] = {}
    for run, own in scores.groupby(run_names(scores)):
        if run not in of_run:
            return None
        frame, counts = run_examples(of_run[str(run)])
        cells = {cell_name(*cell) for cell in zip(own["split"], own["metric"], strict=True)}
        labels = known.labels(str(own["task"].iloc[0]), contents((frame, counts)))
        if labels is None or not cells <= counts.keys():
            return None
        found[str(run)] = {**counts, **labels}
    return found


class _Examples:
    """The examples of each task on which rows are compared."""

    def __init__(
        self, store: Store, measured: pd.DataFrame, finished: Mapping[str, StageResult]
    ) -> None:
        self._store, self._finished = store, finished
        self._keys = measured.drop_duplicates("task").set_index("task")["key"].to_dict()
        self._known: dict[str, tuple[dict[str, Any], Counts]] = {}

    def labels(self, task: str, found: dict[str, Any]) -> Counts | None:
        """What stands for the labels of each split of examples with the contents `found`; null if
        others have other examples."""
        if task not in self._known:
            self._known[task] = self._measured(task) or (
                found,
                {cell_name(split, LABELS): SAME for split in found},
            )
        contents_of, labels = self._known[task]
        alike = all(contents_of.get(split) == content for split, content in found.items())
        return labels if alike else None

    def _measured(self, task: str) -> tuple[dict[str, Any], Counts] | None:
        if task not in self._keys:
            return None
        record = self._finished[self._keys[task]]
        counts = stage_counts(self._store, record)
        frame = load_predictions(self._store.files(record) / PREDICTIONS)
        labels = {name: array for name, array in counts.items() if name.endswith(f"/{LABELS}")}
        return contents((frame, counts)), labels
