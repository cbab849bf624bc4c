"""Texts and tasks in another micro-world."""

from typing import TypeVar

from harness.data.corpora.sources import Corpus, MicroworldCorpus, MixedCorpus
from harness.tasks.task import MicroworldData, Task

AnyCorpus = TypeVar("AnyCorpus", bound=Corpus)


def corpus_in(world: int, corpus: AnyCorpus) -> AnyCorpus:
    """A corpus whose sources that are generated describe a world."""
    if isinstance(corpus, MixedCorpus):
        sources = {name: corpus_in(world, source) for name, source in corpus.sources.items()}
        return corpus.model_copy(update={"sources": sources})
    if not isinstance(corpus, MicroworldCorpus):
        return corpus
    return corpus.model_copy(update={"world": world})


def task_in(world: int, task: Task) -> Task:
    """A task whose examples, if they are generated, are about a world."""
    if not isinstance(task.data, MicroworldData):
        return task
    data = task.data.model_copy(update={"world": world or None})
    return task.model_copy(update={"data": data})
