"""Texts that are written by copying from what is read."""

from harness.data.corpora.sentence_splitter import split_sentences
from harness.finetuning.baselines.predictor import Predictor
from harness.tasks.examples import Examples
from harness.tasks.metrics.metric import column
from harness.tasks.task import Task

LEAD = 3


def first_sentences(task: Task, train: Examples | None) -> Predictor:
    """Lead-3, the first three sentences: of news a summary that is hard to beat (See et al. 2017,
    section 5); one a line, as the metrics of summaries take them."""
    return lambda examples: column(
        ["\n".join(_sentences(texts[0])[:LEAD]) for texts in examples.texts]
    )


def _sentences(text: str) -> list[str]:
    """A line ends a sentence, too: of texts without capitals nothing else does for sure."""
    return [sentence for line in text.splitlines() for sentence in split_sentences(line)]


def source(task: Task, train: Examples | None) -> Predictor:
    """The source as it is: of a translation, names and numbers are right."""
    return lambda examples: column([texts[0] for texts in examples.texts])
