"""Checks of the names that a task declares."""

import re
from collections.abc import Mapping

from harness.tasks.patterns import columns_in
from harness.tasks.task import HubData, Kind, Task

OF_SPANS = ("entity_f1", "entity_f1_strict", "argument_f1", "coref_f1", "muc", "b_cubed", "ceaf_e")
"""Metrics of tagging that read spans from the names of tags."""
READ_BY: Mapping[str, tuple[Kind, ...]] = {
    "labels": ("classification", "multiple_choice", "tagging"),
    "choices_field": ("multiple_choice",),
    "prompt": ("classification", "multiple_choice"),
}
"""Field of a task to the kinds that read it."""


def check_names(task: Task) -> None:
    """Checks for names that are given twice, or as input and answer.

    Raises:
        ValueError: one is.
    """
    splits = [split.name for split in (*task.evaluation, *task.test)]
    lists = {
        "labels": task.labels,
        "metrics": task.metrics,
        "text_fields": task.text_fields,
        "splits": splits,
    }
    for field, names in lists.items():
        if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
            raise ValueError(f"the {field} of {task.name!r} must differ, but {twice!r} is twice")
    if task.label_field in [name for text in task.text_fields for name in columns_in(text)]:
        raise ValueError(
            f"the inputs of {task.name!r} must not contain its answer, but {task.label_field!r} is "
            "in text_fields and the label_field"
        )


def check_read(task: Task) -> None:
    """Checks for fields that the kind of the task does not read.

    Raises:
        ValueError: one is set.
    """
    for field, kinds in READ_BY.items():
        if getattr(task, field) and task.kind not in kinds:
            raise ValueError(
                f"{field} is for {', '.join(kinds)}, but {task.name!r} is {task.kind}; leave it "
                "out, or set another kind"
            )


def check_scored_splits(task: Task) -> None:
    """Checks that no split that is scored is the one that is trained on.

    Raises:
        ValueError: one is.
    """
    data = task.data
    for split in task.evaluation:
        others = {None, data.config} if isinstance(data, HubData) else {None}
        is_elsewhere = split.path is not None or split.config not in others
        if (split.of or split.name) == task.train and not is_elsewhere:
            raise ValueError(
                f"{task.name!r} must be scored on examples that it is not trained on, but its "
                f"split {split.name!r} is {task.train!r}; with local files, holdout_fraction takes "
                "a part of them"
            )


def check_tags_of_spans(task: Task) -> None:
    """Checks that tags name spans where a metric is of spans. Of other tags seqeval takes the first
    letter for the prefix: ORG would be outside all entities.

    Raises:
        ValueError: one does not.
    """
    for metric in OF_SPANS if task.kind == "tagging" else ():
        prefixes = "BI" if metric == "entity_f1_strict" else "BIES"
        named = re.compile(rf"O|[{prefixes}]-.+")
        odd = [name for name in task.labels if not named.fullmatch(name)]
        if metric in task.metrics and odd:
            raise ValueError(
                f"the metric {metric} of {task.name!r} needs the tags O, B-PER, I-PER and the "
                f"like, but labels has {odd[0]!r}; rename the tags, or take accuracy_tags"
            )
