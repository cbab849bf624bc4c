"""The token stream: the tokenised corpus on disk, with the boundaries of sentences and documents.

A stream is a folder of four arrays. Documents `[["a b", "c"], ["d"]]` with one token a word give

    tokens.npy     [1, 2, 3, 4]   uint16 or uint32, without special tokens
    sentences.npy  [0, 2, 3, 4]   int64: sentence i is tokens[sentences[i]:sentences[i + 1]]
    documents.npy  [0, 2, 3]      int64: document i is sentences documents[i]:documents[i + 1]
    bytes.npy      [3, 1, 1]      int64: UTF-8 bytes of sentence i in the text
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from tokenizers import Tokenizer

from harness.data.corpora.mixing import Document, split

BATCH = 512
"""Documents in one call of the tokenizer."""


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


BY_SOURCE = "validation_by_source"
"""Folder with a stream of the held-out documents of each source of a mixture, by its name."""


def write_streams(
    documents: Iterable[list[str]], tokenizer_folder: Path, out: Path, validation_fraction: float
) -> dict[str, float]:
    """`write_split` of documents of which the first and others, evenly spaced, are held out.

    Args:
        documents: lists of sentences.
        validation_fraction: share of the documents that are held out, 0 to 1.
    """
    return write_split(split(documents, validation_fraction), tokenizer_folder, out)


def write_split(
    documents: Iterable[Document], tokenizer_folder: Path, out: Path
) -> dict[str, float]:
    """Tokenises `documents` into `out`/train and `out`/validation, in bounded memory; the held-out
    documents of each source of a mixture also into BY_SOURCE.

    Sentences without tokens and documents without sentences are dropped.

    Returns:
        For all streams, with prefixes `train_` and `validation_`: tokens, sentences, documents,
        bytes (of the sentences in UTF-8), unk_share (of the tokens) and dropped_sentences; of a
        mixture `source_<name>_bytes` and `source_<name>_tokens` for training, and
        `source_<name>_repeats`, how often the source was begun again.

    Raises:
        ValueError: a stream would be empty.
    """
    tokenizer, unk = _plain_tokenizer(tokenizer_folder)
    dtype = np.dtype(np.uint16 if tokenizer.get_vocab_size() < 2**16 else np.uint32)
    train, validation = (_StreamWriter(out / name, dtype) for name in ("train", "validation"))
    by_source: dict[str, _StreamWriter] = {}
    shares: dict[str, float] = {}
    for document, encoded in _encoded(documents, tokenizer, unk, dtype):
        (validation if document.is_held_out else train).add(encoded)
        if not document.source or not len(encoded.tokens):
            continue
        if document.is_held_out:
            name = document.source
            if name not in by_source:
                by_source[name] = _StreamWriter(out / BY_SOURCE / name, dtype)
            by_source[name].add(encoded)
        else:
            _count(shares, document, encoded)
    for writer in by_source.values():
        writer.close()
    counts: dict[str, float] = {}
    for writer in (train, validation):
        counts |= {f"{writer.name}_{key}": value for key, value in writer.close().items()}
    if not counts["train_tokens"] or not counts["validation_tokens"]:
        kept = counts["train_documents"] + counts["validation_documents"]
        raise ValueError(
            f"a corpus needs at least 2 documents with text, one of them held out, but has {kept:g}"
        )
    return counts | shares


def _count(shares: dict[str, float], document: Document, encoded: "_Encoded") -> None:
    """Adds a training document of a mixture to the figures of its source."""
    prefix = f"source_{document.source}"
    figures = {"bytes": encoded.bytes.sum(), "tokens": len(encoded.tokens)}
    for name, value in figures.items():
        key = f"{prefix}_{name}"
        shares[key] = shares.get(key, 0.0) + float(value)
    shares[f"{prefix}_repeats"] = float(document.repeat)


@dataclass(frozen=True)
class _Encoded:
    tokens: np.ndarray
    lengths: np.ndarray
    """Tokens of each sentence; none is 0."""
    bytes: np.ndarray
    """UTF-8 bytes of each of these sentences."""
    num_unk: int
    num_dropped: int


def _plain_tokenizer(folder: Path) -> tuple[Tokenizer, int | None]:
    """The tokenizer, which treats special tokens in text as text, and its unknown token's id."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "<unk>" in a text is text
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    return tokenizer, tokenizer.token_to_id(settings["unk_token"])


def _encoded(
    documents: Iterable[Document], tokenizer: Tokenizer, unk: int | None, dtype: np.dtype
) -> Iterator[tuple[Document, _Encoded]]:
    stream = iter(documents)
    while batch := list(islice(stream, BATCH)):
        sentences = list(chain.from_iterable(document.sentences for document in batch))
        encodings = iter(tokenizer.encode_batch_fast(sentences, add_special_tokens=False))
        for document in batch:
            texts = document.sentences
            ids = [encoding.ids for encoding in islice(encodings, len(texts))]
            lengths = np.array([len(i) for i in ids], dtype=np.int64)
            tokens = np.fromiter(chain.from_iterable(ids), dtype, int(lengths.sum()))
            sizes = [len(s.encode()) for s, i in zip(texts, ids, strict=True) if i]
            encoded = _Encoded(
                tokens,
                lengths[lengths > 0],
                bytes=np.array(sizes, dtype=np.int64),
                num_unk=int(np.sum(tokens == unk)),
                num_dropped=int(np.sum(lengths == 0)),
            )
            yield document, encoded


class _StreamWriter:
    """Appends documents to the arrays of a stream."""

    def __init__(self, folder: Path, dtype: np.dtype) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = folder.name
        self.tokens = _ArrayWriter(folder / "tokens.npy", dtype)
        self.sentences = _ArrayWriter(folder / "sentences.npy", np.dtype(np.int64))
        self.documents = _ArrayWriter(folder / "documents.npy", np.dtype(np.int64))
        self.bytes = _ArrayWriter(folder / "bytes.npy", np.dtype(np.int64))
        self.sentences.append(np.zeros(1))
        self.documents.append(np.zeros(1))
        self.num_bytes = self.num_unk = self.num_dropped = 0

    def add(self, document: _Encoded) -> None:
        self.num_dropped += document.num_dropped
        if not len(document.tokens):
            return
        self.sentences.append(self.tokens.length + np.cumsum(document.lengths))
        self.tokens.append(document.tokens)
        self.documents.append(np.array([self.sentences.length - 1]))
        self.bytes.append(document.bytes)
        self.num_bytes += int(document.bytes.sum())
        self.num_unk += document.num_unk

    def close(self) -> dict[str, float]:
        """Finishes the files and returns the counts."""
        for array in (self.tokens, self.sentences, self.documents, self.bytes):
            array.close()
        return {
            "tokens": float(self.tokens.length),
            "sentences": float(self.sentences.length - 1),
            "documents": float(self.documents.length - 1),
            "bytes": float(self.num_bytes),
            "unk_share": self.num_unk / max(1, self.tokens.length),
            "dropped_sentences": float(self.num_dropped),
        }


class _ArrayWriter:
    """A one-dimensional .npy file that grows; NumPy pads the header, so its length can change."""

    def __init__(self, file: Path, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.length = 0
        self.file = file.open("wb")
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        self.file.write(values.astype(self.dtype, copy=False).tobytes())
        self.length += len(values)

    def close(self) -> None:
        self.file.seek(0)
        self._write_header()
        self.file.close()

    def _write_header(self) -> None:
        description = npy.dtype_to_descr(self.dtype)
        header = {"descr": description, "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self.file, header)
