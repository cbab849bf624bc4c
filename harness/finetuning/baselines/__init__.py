"""Baselines without pretraining, by family and kind of task."""

from collections.abc import Callable
from functools import partial

from harness.finetuning.baselines.bag_of_words import (
    common_words,
    overlapping_sentence,
    word_choices,
    word_classes,
    word_tags,
    word_values,
)
from harness.finetuning.baselines.copy import first_sentences, source
from harness.finetuning.baselines.majority import (
    mean_value,
    most_frequent_answer,
    most_frequent_label,
    most_frequent_tag,
    most_frequent_target,
    zero,
)
from harness.finetuning.baselines.predictor import Maker, Predictor
from harness.tasks.examples import Examples
from harness.tasks.task import Kind, Task

MAKERS: dict[str, dict[Kind, Maker]] = {
    "majority": {
        "classification": most_frequent_label,
        "regression": mean_value,
        "multiple_choice": most_frequent_label,
        "extraction": most_frequent_answer,
        "tagging": most_frequent_tag,
        "similarity": zero,
        "generation": most_frequent_target,
    },
    "bag_of_words": {
        "classification": word_classes,
        "regression": word_values,
        "multiple_choice": word_choices,
        "extraction": overlapping_sentence,
        "tagging": word_tags,
        "similarity": common_words,
    },
    "lead": {"generation": first_sentences},
    "copy": {"generation": source},
}
"""Family to the maker of a predictor for each supported kind of task."""
UNTRAINED = frozenset((zero, overlapping_sentence, common_words, first_sentences, source))
"""Makers that ignore the train set."""


def unsupported_reason(family: str, task: Task) -> str:
    """Why a baseline does not support `task`; empty if it does."""
    make = MAKERS[family].get(task.kind)
    if make is None:
        return f"it does not support tasks of kind {task.kind}"
    if task.train is None and make not in UNTRAINED:
        return "it needs a train set, and the task has none"
    return ""


def make(family: str, task: Task, train: Examples | None) -> Predictor:
    """The predictor of `family` for `task`.

    Raises:
        ValueError: the family does not support the task.
    """
    if why := unsupported_reason(family, task):
        raise ValueError(f"{family} does not support {task.name}: {why}")
    return MAKERS[family][task.kind](task, train)


BASELINES: dict[str, Callable[[Task, Examples | None], Predictor]] = {
    family: partial(make, family) for family in MAKERS
}
"""Family to the maker of a predictor: (task, train set) to predictor."""
