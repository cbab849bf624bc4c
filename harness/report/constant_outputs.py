"""Splits with one label, and runs with one answer: they say nothing of the arms."""

from collections.abc import Iterator

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.table import Table


def constant_labels(results: Results, table: Table) -> Iterator[tuple[str, str]]:
    """(task, split) of each column whose examples all have the same class or value."""
    keys = results.get(scores_frame).drop_duplicates("task").set_index("task")["key"]
    for task, split in dict.fromkeys((column.task, column.split) for column in table.columns):
        if task in keys.index:
            rows = results.predictions(str(keys[task]))
            labels = rows[rows["split"] == split]["label"]
            if labels.dtype != object and len(labels) > 1 and labels.nunique() == 1:
                yield task, split


def constant_runs(results: Results, table: Table) -> Iterator[tuple[str, str, str]]:
    """(arm, task, seeds) of each run that gives one answer to every example of a split, or one tag
    to every word."""
    splits = {(column.task, column.split) for column in table.columns}
    runs = results.get(scores_frame)[
        ["arm", "task", "pretrain_seed", "finetune_seed", "key"]
    ].drop_duplicates()
    for run in runs.itertuples(index=False):
        answers = results.predictions(str(run.key)).groupby("split")["prediction"]
        # `explode` makes entries of the tags of a sentence, and leaves all other answers alone.
        constant = [split for split, found in answers if found.explode().nunique() == 1]
        if any((run.task, split) in splits for split in constant):
            yield str(run.arm), str(run.task), f"{run.pretrain_seed}.{run.finetune_seed}"
