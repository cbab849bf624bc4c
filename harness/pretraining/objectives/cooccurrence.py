"""Counts of co-occurrence of a whole text, and samples of them (Pennington et al. 2014, EMNLP).

Shapes: V vocabulary, N nonzero cells, B rows and T columns of a batch of B x T cells.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.targets import Batch, read
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from harness.data.corpora.token_stream import TokenStream

TOKENS_AT_ONCE = 2**22
"""Tokens of a stream that are counted together."""
CACHED_ORDERS = 2


def cooccurrences(stream: "TokenStream", special: np.ndarray, window: int) -> "csr_array":
    """[V, V] symmetric counts X: two tokens of a document that are d <= `window` tokens apart count
    1 / d for each other (Pennington et al. 2014, section 4.2).

    Distances count special tokens, such as unknown words, which have no cells.

    Args:
        special: [V] bool.
    """
    from scipy.sparse import csr_array

    shape = (len(special), len(special))
    documents = stream.sentences[stream.documents]
    before = csr_array(shape, dtype=np.float64)
    for distance in range(1, window + 1):
        pairs = csr_array(shape, dtype=np.int64)
        for first in range(0, stream.num_tokens, TOKENS_AT_ONCE):
            text = stream.tokens[first : first + TOKENS_AT_ONCE + distance].astype(np.int64)
            places = np.arange(first, first + len(text))
            document = np.searchsorted(documents, places, side="right")
            pairs += _pairs(text, document, special, distance)
        before += pairs / distance
    counts = csr_array(before + before.T)
    counts.sort_indices()
    return counts


def _pairs(
    text: np.ndarray, document: np.ndarray, special: np.ndarray, distance: int
) -> "csr_array":
    """[V, V] numbers of pairs of a token and the one at a distance after it, in one document.

    Args:
        text, document: [num_tokens] tokens and the numbers of their documents.
    """
    from scipy.sparse import csr_array

    word, context = text[:-distance], text[distance:]
    counted = (document[:-distance] == document[distance:]) & ~special[word] & ~special[context]
    word, context = word[counted], context[counted]
    return csr_array((np.ones(len(word), np.int64), (word, context)), (len(special),) * 2)


@dataclass(frozen=True)
class Cells:
    """The nonzero cells of the counts, in order of words and then contexts; arrays are [N]."""

    words: np.ndarray
    contexts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, stream: "TokenStream", vocabulary: Vocabulary, window: int) -> "Cells":
        """Those of a text."""
        found = cooccurrences(stream, vocabulary.special, window).tocoo()
        return cls(found.row, found.col, found.data)

    def __len__(self) -> int:
        return len(self.words)

    def rows(self, chosen: np.ndarray) -> Rows:
        """The words of cells [B, T], as if they were text."""
        nothing = np.zeros(chosen.shape, np.int64)
        lengths = np.full(len(chosen), chosen.shape[1])
        words = self.words[chosen].astype(np.int64)
        return Rows(words, nothing, nothing == 0, lengths, nothing > 0)

    def batch(self, chosen: np.ndarray) -> Batch:
        """The batch of cells [B, T]: each word predicts its context, and `counts` [M] has how often
        they co-occur."""
        rows = self.rows(chosen)
        return {
            **read(rows.tokens, rows.lengths),
            "num_tokens": rows.lengths,
            "positions": np.arange(chosen.size),
            "targets": self.contexts[chosen].ravel().astype(np.int64),
            "counts": self.counts[chosen].ravel().astype(np.float32),
        }


class CellSampler:
    """Which cells an update reads: each epoch shuffles all, and drops its last incomplete batch."""

    def __init__(self, num_cells: int, seed: tuple[int, ...]) -> None:
        self.num_cells, self.seed = num_cells, seed
        self.order = lru_cache(CACHED_ORDERS)(self._order)

    def sample(self, phase: int, step: int, num_rows: int, length: int) -> np.ndarray:
        """[num_rows, length] numbers of the cells of an update of a phase.

        Raises:
            ValueError: there are fewer cells than a batch takes.
        """
        size = num_rows * length
        if size > self.num_cells:
            raise ValueError(
                f"a batch takes {size} counts of co-occurrence (batch_size {num_rows} x {length}), "
                f"but the text has only {self.num_cells}; use a smaller batch_size or more text"
            )
        epoch, index = divmod(step, self.num_cells // size)
        chosen = self.order(phase, epoch)[index * size : (index + 1) * size]
        return chosen.reshape(num_rows, length)

    def _order(self, phase: int, epoch: int) -> np.ndarray:
        rng = np.random.default_rng((*self.seed, phase, epoch))
        return rng.permutation(self.num_cells)
