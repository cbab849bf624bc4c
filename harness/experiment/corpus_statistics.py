"""Statistics of the corpora of an experiment, or of one corpus, and their overlap with a suite."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.mixing import Document, split_corpus
from harness.data.corpora.sources import Corpus
from harness.data.corpora.statistics import CorpusStatistics, statistics
from harness.data.corpora.steps.decontamination import EvaluationNgrams
from harness.experiment.arms import Arm
from harness.tasks.evaluation_texts import evaluation_texts


class PretrainingText(NamedTuple):
    """The text of a pretraining run."""

    corpus: Corpus
    held_out: Corpus | None = None
    """Null: a share of `corpus`."""


def corpora_of(arms: Iterable[Arm]) -> dict[str, PretrainingText]:
    """Names of arms to the text that they pretrain on; arms with equal ones share an entry."""
    found: dict[PretrainingText, list[str]] = {}
    for arm in arms:
        if not arm.pretrain.model.checkpoint and not arm.pretrain.budget.is_zero:
            text = PretrainingText(arm.pretrain.corpus, arm.pretrain.held_out)
            found.setdefault(text, []).append(arm.name)
    return {", ".join(names): text for text, names in found.items()}


def corpus_statistics(
    corpora: dict[str, PretrainingText],
    suite: str | None = None,
    tracked: Callable[[Iterable[Document]], Iterable[Document]] = lambda documents: documents,
) -> dict[str, CorpusStatistics]:
    """Name of each corpus, and of each source of a mixture as `name: source`, to its statistics;
    held-out text of its own as `name: held out`.

    Args:
        suite: a suite whose evaluation texts are searched in the corpora.
        tracked: shows the progress over documents.

    Raises:
        ValueError: the text is missing or not in the declared format; the suite is unknown.
    """
    evaluation = EvaluationNgrams.of(evaluation_texts(suite)) if suite else None
    read = partial(read_documents, evaluation=evaluation_texts)
    found: dict[str, CorpusStatistics] = {}
    for name, text in corpora.items():
        documents = tracked(split_corpus(text.corpus, text.held_out, read))
        if text.held_out is not None:
            documents = (_named_held_out(one) for one in documents)
        by_source = statistics(documents, evaluation)
        of_its_own = text.held_out is not None
        if not by_source or (of_its_own and all(map(_all_held_out, by_source.values()))):
            raise ValueError(f"{name} must have documents with text, but has none")
        for source, one in by_source.items():
            found[f"{name}: {source}" if source else name] = one
    return found


def _all_held_out(found: CorpusStatistics) -> bool:
    return found.num_held_out == len(found.lengths)


def _named_held_out(document: Document) -> Document:
    """The document, of a source of its own if it is held out."""
    if not document.is_held_out:
        return document
    source = f"held out, {document.source}" if document.source else "held out"
    return replace(document, source=source)
