"""The texts of a suite that no corpus should have."""

from collections.abc import Iterator

from harness.tasks import TASKS
from harness.tasks.custom import suite_named
from harness.tasks.load_examples import IN_LISTS, available_splits, fingerprint, load_examples


def evaluation_texts(suite: str) -> Iterator[str]:
    """The texts of the evaluation and test splits of a suite's tasks.

    Raises:
        ValueError: no such suite, or its data are missing.
    """
    for name in suite_named(suite).tasks:
        task = TASKS[name]
        for split in available_splits(task, with_test=True):
            for texts in load_examples(task, split).texts:
                yield from (" ".join(texts),) if task.kind in IN_LISTS else texts


def evaluation_fingerprints(suite: str) -> dict[str, str]:
    """Name of each task of a suite to a string that identifies its examples.

    Raises:
        ValueError: no such suite, or its data are missing.
    """
    tasks = [TASKS[name] for name in suite_named(suite).tasks]
    return {
        # Until version 2, each word of a sentence was a text of its own.
        task.name: fingerprint(task) + (";version=2" if task.kind in IN_LISTS else "")
        for task in tasks
    }
