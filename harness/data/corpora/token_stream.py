"""The token stream: the tokenised corpus on disk, with the boundaries of sentences and documents.

A stream is a folder of four arrays. Documents `[["a b", "c"], ["d"]]` with one token a word give

    tokens.npy     [1, 2, 3, 4]   uint16 or uint32, without special tokens
    sentences.npy  [0, 2, 3, 4]   int64: sentence i is tokens[sentences[i]:sentences[i + 1]]
    documents.npy  [0, 2, 3]      int64: document i is sentences documents[i]:documents[i + 1]
    bytes.npy      [3, 1, 1]      int64: UTF-8 bytes of sentence i in the text
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

BY_SOURCE = "validation_by_source"
"""Folder with a stream of the held-out documents of each source of a mixture, by its name."""


@dataclass(frozen=True)
class TokenStream:
    """A stream on disk, memory-mapped read-only."""

    tokens: np.ndarray
    """[num_tokens] uint16 or uint32."""
    sentences: np.ndarray
    """[num_sentences + 1] offsets into tokens."""
    documents: np.ndarray
    """[num_documents + 1] offsets into sentences."""
    bytes: np.ndarray | None = None
    """[num_sentences] UTF-8 bytes of each; None if unknown."""

    @classmethod
    def open(cls, folder: Path) -> "TokenStream":
        """The stream in `folder`."""
        names = ("tokens", "sentences", "documents", "bytes")
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))

    @property
    def num_tokens(self) -> int:
        """Tokens of the stream, without special tokens."""
        return len(self.tokens)
