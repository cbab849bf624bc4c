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
    """The train set without its hold-out and its labels, a document an example: the sentences of
    all its text fields, one field after the other; of tagging, the words in a row. A text that
    stands in several examples in the same way is one document.

    Args:
        spec: of a stage: `task`, `content`, `fingerprint`, `holdout_fraction`,
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
