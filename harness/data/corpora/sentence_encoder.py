"""Encodes documents as the tokens of their sentences."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Encoding, Tokenizer

from harness.data.corpora.mixing import Document
from harness.data.corpora.stream_writer import EncodedDocument

SEPARATOR = "\U0010fffe"
"""Follows each sentence of a text for the library; a code point that is no character."""
JOINED = 32
"""Sentences in a text. Each by itself takes the library a fifth more time; more are no faster."""
PROBE = ("A sentence, ", " and one more.", "", "one")


@dataclass(frozen=True)
class Encodings:
    """Sentences as the library encodes them."""

    texts: list[Encoding]
    separator: int | None
    """The token after each sentence; null if each text is one sentence."""

    def sentences(self) -> tuple[np.ndarray, np.ndarray]:
        """[num_tokens] tokens of all sentences and [num_sentences] tokens of each."""
        lists = [text.ids for text in self.texts]
        sizes = np.array([len(ids) for ids in lists], dtype=np.int64)
        tokens = np.fromiter(chain.from_iterable(lists), np.uint32, int(sizes.sum()))
        if self.separator is None:
            return tokens, sizes
        is_end = tokens == self.separator
        return tokens[~is_end], np.diff(np.flatnonzero(is_end), prepend=-1) - 1


class SentenceEncoder:
    """A tokenizer that encodes each sentence by itself, and special tokens in it as text.

    The library reads several sentences at a time, separated by an added token, at which it splits a
    text before it normalises the parts.
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "<unk>" in a text is text
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        # Published byte-level tokenizers may have none, as those of Llama 3 and Qwen.
        unk = settings.get("unk_token")
        self._unk = None if unk is None else self._tokenizer.token_to_id(unk)
        numbers = set(self._tokenizer.get_vocab().values())  # some published ones skip ids
        small = max(max(numbers) + 1, self._tokenizer.get_vocab_size()) < 2**16
        self.dtype = np.dtype(np.uint16 if small else np.uint32)
        self._joining = Tokenizer.from_str(self._tokenizer.to_str())
        self._joining.encode_special_tokens = True
        self._joining.add_tokens([AddedToken(SEPARATOR, normalized=False)])
        # Not where the first words of a text are encoded differently, as by Llama 2, nor where the
        # library gives the separator the id of another token, as it does if ids are skipped.
        both = zip(self._joined(PROBE).sentences(), self._single(PROBE).sentences(), strict=True)
        free = self._joining.token_to_id(SEPARATOR) not in numbers
        self._joins = free and all(np.array_equal(*arrays) for arrays in both)

    def encodings(self, documents: Sequence[Document]) -> Encodings:
        """The sentences of documents, in their order."""
        sentences = list(chain.from_iterable(one.sentences for one in documents))
        joins = self._joins and not any(SEPARATOR in sentence for sentence in sentences)
        return self._joined(sentences) if joins else self._single(sentences)

    def documents(
        self, documents: Sequence[Document], encodings: Encodings
    ) -> Iterator[EncodedDocument]:
        """The tokens of each document.

        Args:
            encodings: of all sentences.
        """
        tokens, lengths = encodings.sentences()
        edges = np.cumsum([0, *(len(document.sentences) for document in documents)])
        starts = np.concatenate([[0], np.cumsum(lengths)])[edges]
        for number, document in enumerate(documents):
            own = lengths[edges[number] : edges[number + 1]]
            found = tokens[starts[number] : starts[number + 1]]
            texts = document.sentences
            sizes = [len(text.encode()) for text, size in zip(texts, own, strict=True) if size]
            yield EncodedDocument(
                found.astype(self.dtype),
                own[own > 0],
                bytes=np.array(sizes, dtype=np.int64),
                num_unk=0 if self._unk is None else int(np.sum(found == self._unk)),
                num_dropped=int(np.sum(own == 0)),
            )

    def _joined(self, sentences: Sequence[str]) -> Encodings:
        texts = [
            "".join(sentence + SEPARATOR for sentence in sentences[start : start + JOINED])
            for start in range(0, len(sentences), JOINED)
        ]
        return Encodings(_encoded(self._joining, texts), self._joining.token_to_id(SEPARATOR))

    def _single(self, sentences: Sequence[str]) -> Encodings:
        return Encodings(_encoded(self._tokenizer, list(sentences)), None)


def _encoded(tokenizer: Tokenizer, texts: list[str]) -> list[Encoding]:
    found: list[Encoding] = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return found
