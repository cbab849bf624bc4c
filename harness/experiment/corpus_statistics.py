"""Statistics of the corpora of an experiment, or of one corpus, and their overlap with a suite."""

from collections.abc import Callable, Iterable
from functools import partial

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.mixing import Document, split_corpus
from harness.data.corpora.sources import Corpus
from harness.data.corpora.statistics import CorpusStatistics, statistics
from harness.data.corpora.steps.decontamination import EvaluationNgrams
from harness.experiment.arms import Arm
from harness.tasks.evaluation_texts import evaluation_texts


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
    evaluation = EvaluationNgrams.of(evaluation_texts(suite)) if suite else None
    read = partial(read_documents, evaluation=evaluation_texts)
    found: dict[str, CorpusStatistics] = {}
    for name, corpus in corpora.items():
        by_source = statistics(tracked(split_corpus(corpus, read=read)), evaluation)
        if not by_source:
            raise ValueError(f"{name} must have documents with text, but has none")
        for source, one in by_source.items():
            found[f"{name}: {source}" if source else name] = one
    return found
