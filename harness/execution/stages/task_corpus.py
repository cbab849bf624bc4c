"""The texts of a task as a corpus."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from harness.data.corpora.load_corpus import paragraphs
from harness.data.corpora.sources import TaskCorpus
from harness.execution.stages.task_runner import HOLDOUT_SEED, read_examples
from harness.tasks.examples import split_holdout
from harness.tasks.task import Task


def task_documents(spec: Mapping[str, Any], corpus: TaskCorpus) -> Iterator[list[str]]:
    """Documents of sentences from the texts of the train set, without hold-out and labels.

    One document per example, with all text fields in order (the words of a tagging example joined
    by spaces); repeated examples count once.

    Args:
        spec: holds `task`, `content`, `fingerprint`, `holdout_fraction` and
            `max_holdout_examples`.
    """
    task = Task.model_validate({"name": spec["task"], **spec["content"]})
    train, _ = split_holdout(
        read_examples(task, "train", spec["fingerprint"]),
        spec["holdout_fraction"],
        spec["max_holdout_examples"],
        HOLDOUT_SEED,
    )
    joined = [(" ".join(words),) for words in train.texts] if task.kind == "tagging" else None
    for texts in islice(dict.fromkeys(joined or train.texts), corpus.max_documents):
        if sentences := [sentence for text in texts for sentence in paragraphs(text)]:
            yield sentences
