"""Baselines of generation that copy from the source."""

from harness.data.corpora.sentence_splitter import split_sentences
from harness.finetuning.baselines.predictor import Predictor
from harness.tasks.examples import Examples, column
from harness.tasks.task import Task

LEAD = 3
"""Sentences of the lead."""


def first_sentences(task: Task, train: Examples | None) -> Predictor:
    """Lead-3: the first three sentences, one per line, a strong baseline for news summaries (See et
    al. 2017, section 5)."""
    return lambda examples: column(
        ["\n".join(_sentences(texts[0])[:LEAD]) for texts in examples.texts]
    )


def _sentences(text: str) -> list[str]:
    """Sentences of a text; line ends count as sentence ends, needed for uncased texts."""
    return [sentence for line in text.splitlines() for sentence in split_sentences(line)]


def source(task: Task, train: Examples | None) -> Predictor:
    """The unchanged source: a translation with correct names and numbers."""
    return lambda examples: column([texts[0] for texts in examples.texts])
