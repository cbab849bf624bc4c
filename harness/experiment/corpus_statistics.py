"""Statistics of the corpora of an experiment, or of one corpus, and their overlap with a suite."""

from collections.abc import Callable, Iterable, Iterator

from harness.data.corpora.mixing import Document, split_corpus
from harness.data.corpora.sources import Corpus
from harness.data.corpora.statistics import CorpusStatistics, evaluation_ngrams, statistics
from harness.experiment.arms import Arm
from harness.tasks import TASKS
from harness.tasks.custom import suite_named
from harness.tasks.load_examples import available_splits, load_examples


def corpora_of(arms: Iterable[Arm]) -> dict[str, Corpus]:
    """Names of arms to the corpus that they pretrain on; arms with equal ones share an entry."""
    found: dict[Corpus, list[str]] = {}
    for arm in arms:
        if not arm.pretrain.model.checkpoint and not arm.pretrain.budget.is_zero:
            found.setdefault(arm.pretrain.corpus, []).append(arm.name)
    return {", ".join(names): corpus for corpus, names in found.items()}


def corpus_statistics(
    corpora: dict[str, Corpus],
    suite: str | None = None,
    tracked: Callable[[Iterable[Document]], Iterable[Document]] = lambda documents: documents,
) -> dict[str, CorpusStatistics]:
    """Name of each corpus, and of each source of a mixture as `name: source`, to its statistics.

    Args:
        suite: a suite whose evaluation texts are searched in the corpora.
        tracked: shows the progress over documents.

    Raises:
        ValueError: the text is missing or not in the declared format; the suite is unknown.
    """
    ngrams = evaluation_ngrams(evaluation_texts(suite) if suite else ())
    found: dict[str, CorpusStatistics] = {}
    for name, corpus in corpora.items():
        by_source = statistics(tracked(split_corpus(corpus)), ngrams)
        if not by_source:
            raise ValueError(f"{name} must have documents with text, but has none")
        for source, one in by_source.items():
            found[f"{name}: {source}" if source else name] = one
    return found


def evaluation_texts(suite: str) -> Iterator[str]:
    """The texts of the evaluation and test splits of a suite's tasks.

    Raises:
        ValueError: no such suite, or its data are missing.
    """
    for name in suite_named(suite).tasks:
        task = TASKS[name]
        for split in available_splits(task, with_test=True):
            for texts in load_examples(task, split).texts:
                yield from texts
