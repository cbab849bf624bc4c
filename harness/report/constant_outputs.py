"""Splits with a single label, and runs with constant predictions."""

from collections.abc import Iterator

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.table import Table


def constant_labels(results: Results, table: Table) -> Iterator[tuple[str, str]]:
    """(task, split) of each column whose examples all have the same label."""
    keys = results.get(scores_frame).drop_duplicates("task").set_index("task")["key"]
    for task, split in dict.fromkeys((column.task, column.split) for column in table.columns):
        if task in keys.index:
            rows = results.predictions(str(keys[task]))
            labels = rows[rows["split"] == split]["label"]
            if labels.dtype != object and len(labels) > 1 and labels.nunique() == 1:
                yield task, split


def constant_runs(results: Results, table: Table) -> Iterator[tuple[str, str, str]]:
    """(arm, task, seeds) of each run that predicts the same for every example of a split, or the
    same tag for every word."""
    splits = {(column.task, column.split) for column in table.columns}
    identity = ["arm", "task", "pretrain_seed", "finetune_seed", "key"]
    runs = results.get(scores_frame)[identity].drop_duplicates()
    for run in runs.itertuples(index=False):
        answers = results.predictions(str(run.key)).groupby("split")["prediction"]
        # `explode` splits the tags of a sentence, and leaves all other predictions alone.
        constant = [split for split, found in answers if found.explode().nunique() == 1]
        if any((run.task, split) in splits for split in constant):
            yield str(run.arm), str(run.task), f"{run.pretrain_seed}.{run.finetune_seed}"
