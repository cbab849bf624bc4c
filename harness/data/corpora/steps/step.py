"""What a step is, and the words of documents."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from harness.core.config import ConfigModel

Documents = Iterable[list[str]]
"""Lists of sentences."""
EvaluationTexts = Callable[[str], Iterable[str]]
"""Name of a suite to the evaluation and test texts of its tasks."""


def no_evaluation_texts(suite: str) -> Iterable[str]:
    """Where no suites are at hand.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"the texts of the suite {suite} cannot be read here")


class Step(ConfigModel):
    """Settings of a step; `kind` names it in an experiment."""

    if TYPE_CHECKING:  # each step declares its own literal
        kind: str


def words_of(document: list[str]) -> list[str]:
    """The words of a document, separated by white space."""
    return [word for sentence in document for word in sentence.split()]


def ngrams(words: list[str], size: int) -> set[str]:
    """The n-grams of words in lower case; of fewer words one, which is shorter."""
    words = [word.lower() for word in words]
    return {" ".join(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}
