"""Token streams of documents, for tests."""

from collections.abc import Iterable
from pathlib import Path

from harness.data.corpora.mixing import split
from harness.data.corpora.tokenization import write_split


def write_streams(
    documents: Iterable[list[str]], tokenizer_folder: Path, out: Path, validation_fraction: float
) -> dict[str, float]:
    """`write_split` of documents of which the first and others, evenly spaced, are held out.

    Args:
        documents: lists of sentences.
        validation_fraction: share of the documents that are held out, 0 to 1.
    """
    return write_split(split(documents, validation_fraction), tokenizer_folder, out)
