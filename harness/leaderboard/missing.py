"""Why cells are empty."""

from collections.abc import Callable, Collection, Iterable, Mapping

import pandas as pd

from harness.leaderboard.table import Row
from harness.tasks.task import Column

Reasons = Mapping[str, Mapping[str, str]]
"""Row to column to the reason why its cell is empty."""
Unsupported = Callable[[str, str], str]
"""Row and task to the reason why the arm does not support the task; empty if it does."""
NO_AVERAGE = "The average needs all its columns."
NOT_CHOSEN = "The experiment does not include this task."
NOT_FINISHED = "No run is finished."
OTHER_METRICS = "The runs have no score for every metric of the column."
OF_REFERENCES = "No level is known for this column."
OF_IMPORTED = "No score was imported for this column."
OF_PUBLISHED = "The source prints no score for this column."
AVERAGE_OF_PUBLISHED = "The source prints no average over these columns by this rule."


def reasons(
    rows: Iterable[Row],
    columns: Collection[Column],
    scores: pd.DataFrame,
    tasks: Mapping[str, Collection[str]],
    unsupported: Unsupported,
) -> Reasons:
    """The reason for each empty cell of measured rows.

    Args:
        scores: as in `harness.leaderboard.build.build`, with the name of the row in `arm`.
        tasks: row to the tasks of its experiment.
    """
    incomplete = [row for row in rows if None in row.scores]
    own = scores[scores["arm"].isin([row.name for row in incomplete])]
    runs = {(str(arm), str(task)): one for (arm, task), one in own.groupby(["arm", "task"])}
    return {
        row.name: {
            column.name: _reason(row.name, column, runs, tasks[row.name], unsupported)
            for column, score in zip(columns, row.scores, strict=True)
            if score is None
        }
        for row in incomplete
    }


def _reason(
    row: str,
    column: Column,
    runs: Mapping[tuple[str, str], pd.DataFrame],
    tasks: Collection[str],
    unsupported: Unsupported,
) -> str:
    if column.task not in tasks:
        return NOT_CHOSEN
    if why := unsupported(row, column.task):
        return f"The arm does not support the task: {why}."
    if (row, column.task) not in runs:
        return NOT_FINISHED
    found = runs[row, column.task]
    found = found[(found["split"] == column.split) & found["metric"].isin(column.metrics)]
    is_undefined = found.assign(undefined=found["value"].isna())
    undefined = is_undefined.groupby(["pretrain_seed", "finetune_seed"])["undefined"].any()
    if undefined.any():
        return (
            f"The metric is undefined in {undefined.sum()} of {len(undefined)} runs, as a "
            "correlation is with constant predictions."
        )
    return OTHER_METRICS
