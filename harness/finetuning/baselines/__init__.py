"""Baselines without pretraining, by family and kind of task."""

from harness.finetuning.baselines import bag_of_words, simple
from harness.finetuning.baselines.predictor import Maker, Predictor
from harness.tasks.examples import Examples
from harness.tasks.task import Kind, Task

MAKERS: dict[str, dict[Kind, Maker]] = {
    "majority": {
        "classification": simple.most_frequent_label,
        "regression": simple.mean_value,
        "multiple_choice": simple.most_frequent_label,
        "extraction": simple.most_frequent_answer,
        "tagging": simple.most_frequent_tag,
        "coreference": simple.no_mentions,
        "similarity": simple.zero,
        "retrieval": simple.no_order,
        "generation": simple.most_frequent_target,
    },
    "bag_of_words": {
        "classification": bag_of_words.word_classes,
        "regression": bag_of_words.word_values,
        "multiple_choice": bag_of_words.word_choices,
        "extraction": bag_of_words.overlapping_sentence,
        "tagging": bag_of_words.word_tags,
        "coreference": bag_of_words.equal_mentions,
        "similarity": bag_of_words.common_words,
        "retrieval": bag_of_words.most_common_words,
    },
    "lead": {"generation": simple.first_sentences},
    "copy": {"generation": simple.source},
}
"""Family to the maker of a predictor for each supported kind of task."""
UNTRAINED: set[Maker] = {
    simple.zero,
    simple.no_order,
    simple.no_mentions,
    bag_of_words.overlapping_sentence,
    bag_of_words.common_words,
    bag_of_words.most_common_words,
    simple.first_sentences,
    simple.source,
}
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
