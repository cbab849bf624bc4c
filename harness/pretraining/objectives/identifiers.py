"""Which tokens of a stream of Python text are identifiers (Wang et al. 2021, section 3.1).

Shapes: N tokens, D of a document. Documents are read as a whole, because a row may begin within a
string.
"""

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from harness.data.python_identifiers import identifiers
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

CACHED_DOCUMENTS = 4096
"""Documents whose identifiers are kept; those of a file of 5,000 tokens take 40 kB."""


class StreamIdentifiers:
    """The identifiers of a stream: names that are no keywords, outside strings and comments.

    Underscores around a name are no part of it, because tokenizers join them to the marks beside
    them: of `self._items`, the tokens of `self` and `items` are marked, but `_items` and `items`
    are two names. A name of which a token holds other text is not marked. Sentences are lines: of a
    comment of several sentences only the first is known as one.
    """

    def __init__(self, stream: "TokenStream", vocabulary: Vocabulary) -> None:
        if not vocabulary.texts:
            raise ValueError("identifiers are found in text: the vocabulary must have its texts")
        self.stream, self.vocabulary = stream, vocabulary
        self.numbers: dict[str, int] = {}
        self.starts = np.asarray(stream.sentences)[np.asarray(stream.documents)]
        self.of_document = lru_cache(CACHED_DOCUMENTS)(self._of_document)

    def at(self, offsets: np.ndarray) -> np.ndarray:
        """[N] number of the identifier that the token at each offset [N] is part of, -1 if it is of
        none. Equal names have equal numbers; these depend on what was read before."""
        document = np.searchsorted(self.starts, offsets, side="right") - 1
        found = np.full(len(offsets), -1)
        edges = np.flatnonzero(np.diff(document, prepend=-1, append=-1))
        for first, last in pairwise(edges):
            number = int(document[first])
            found[first:last] = self.of_document(number)[offsets[first:last] - self.starts[number]]
        return found

    def _of_document(self, document: int) -> np.ndarray:
        """[D] as `at`, of all tokens of a document."""
        first, last = self.starts[document : document + 2]
        pieces = [self.vocabulary.texts[token] for token in self.stream.tokens[first:last]]
        for start in self._lines(document):
            pieces[start - first] = "\n" + pieces[start - first]
        ends = np.cumsum([len(piece) for piece in pieces])
        begins = ends - [len(piece.lstrip()) for piece in pieces]
        ends -= [len(piece) - len(piece.rstrip()) for piece in pieces]
        found = np.full(len(pieces), -1)
        for name, start, end in identifiers("".join(pieces)):
            end -= len(name) - len(name.rstrip("_"))
            start += len(name) - len(name.lstrip("_"))
            token = np.searchsorted(begins, start, side="right") - 1
            after = np.searchsorted(ends, end) + 1
            if start < end and begins[token] == start and ends[after - 1] == end:
                found[token:after] = self.numbers.setdefault(name, len(self.numbers))
        return found

    def _lines(self, document: int) -> np.ndarray:
        """Offsets of the sentences of a document in the stream."""
        first, last = self.stream.documents[document : document + 2]
        found: np.ndarray = np.asarray(self.stream.sentences[first:last])
        return found
