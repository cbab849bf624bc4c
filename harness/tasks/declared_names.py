"""Checks of the names that a task declares."""

import re

from harness.tasks.task import Task

OF_SPANS = ("entity_f1", "entity_f1_strict", "argument_f1", "coref_f1", "muc", "b_cubed", "ceaf_e")
"""Metrics of tagging that read spans from the names of tags."""


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
    if task.label_field in task.text_fields:
        raise ValueError(
            f"the inputs of {task.name!r} must not contain its answer, but {task.label_field!r} is "
            "one of text_fields and the label_field"
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
