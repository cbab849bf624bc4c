"""Tokenises documents into token streams, which can be continued after a kill."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from harness.core.checked_files import read_checked, write_checked
from harness.data.corpora.mixing import Document
from harness.data.corpora.sentence_encoder import SentenceEncoder
from harness.data.corpora.stream_writer import (
    EncodedDocument,
    StreamWriter,
    Written,
    is_as_written,
)
from harness.data.corpora.token_stream import BY_SOURCE

BATCH_DOCUMENTS, BATCH_CHARACTERS = 512, 2**18
"""Most documents, and characters in one call of the tokenizer, but for a longer document. Calls of
2M characters took 1.4 to 1.8 times as long for the same text."""
SAVE_SECONDS = 10.0
"""Time between two saved states, and the work that a kill loses."""
STATE = "state.json"
Item = TypeVar("Item")


@dataclass
class Progress:
    """How far the tokenization of a corpus is."""

    documents: int = 0
    bytes: int = 0
    """Of the sentences in UTF-8, as the next."""
    tokens: int = 0
    new_tokens: int = 0
    """Of this attempt."""
    seconds: float = 0.0
    """Of this attempt, without those in which the text before it was read again."""


def write_split(
    documents: Iterable[Document],
    tokenizer_folder: Path,
    out: Path,
    work: Path | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, float]:
    """Tokenises `documents` into `out`/train and `out`/validation, in bounded memory; the held-out
    documents of each source of a mixture also into BY_SOURCE.

    Sentences without tokens and documents without sentences are dropped.

    Args:
        documents: the same at each attempt.
        work: a folder on the same file system as `out` for an unfinished result, which the next
            attempt continues: it reads the text up to there again, but does not tokenise it. Null:
            `out`.
        report: called before the first batch, and after each.

    Returns:
        For all streams, with prefixes `train_` and `validation_`: tokens, sentences, documents,
        bytes (of the sentences in UTF-8), unk_share (of the tokens) and dropped_sentences; of a
        mixture `source_<name>_bytes` and `source_<name>_tokens` for training, and
        `source_<name>_repeats`, how often the source was begun again.

    Raises:
        ValueError: a stream would be empty.
    """
    encoder = SentenceEncoder(tokenizer_folder)
    with closing(_SplitWriter(work or out, encoder.dtype)) as writer:
        _write(documents, encoder, writer, report)
        counts = writer.finish()
    if work:
        for folder in writer.folders:
            (work / folder).replace(out / folder)
    return counts


def _write(
    documents: Iterable[Document],
    encoder: SentenceEncoder,
    writer: "_SplitWriter",
    report: Callable[[Progress], None],
) -> None:
    """Adds the documents that a stream does not have yet."""
    new_tokens, begin, saved = 0, 0.0, time.monotonic()
    report(writer.progress(0, 0.0))  # what an earlier attempt has done
    # One thread reads, another waits for those of the library, and this one writes.
    batches = prefetched(_batches(islice(documents, writer.documents, None)))
    for batch, encodings in prefetched((batch, encoder.encodings(batch)) for batch in batches):
        begin = begin or time.monotonic()
        for document, encoded in zip(batch, encoder.documents(batch, encodings), strict=True):
            writer.add(document, encoded)
            new_tokens += len(encoded.tokens)
        now = time.monotonic()
        if now - saved > SAVE_SECONDS:
            writer.save()
            saved = now
        report(writer.progress(new_tokens, now - begin))


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """The items, each of which is made in a thread while the one before is used."""
    end = object()
    with ThreadPoolExecutor(1) as thread:
        ahead = thread.submit(next, items, end)
        while (item := ahead.result()) is not end:
            ahead = thread.submit(next, items, end)
            yield cast("Item", item)


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += sum(map(len, document.sentences))
        if len(batch) == BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass
class _SplitWriter:
    """The training and the held-out stream in `folder`, and those of sources."""

    folder: Path
    dtype: np.dtype
    documents: int = 0
    """Documents so far."""
    streams: dict[str, StreamWriter] = field(default_factory=dict)
    """Folder to stream."""
    shares: dict[str, float] = field(default_factory=dict)
    """Figures of the sources of a mixture."""

    def __post_init__(self) -> None:
        state = self.folder / STATE
        saved = read_checked(state) or {}
        streams = {name: Written(**one) for name, one in saved.get("streams", {}).items()}
        if all(is_as_written(self.folder / name, self.dtype, one) for name, one in streams.items()):
            self.documents, self.shares = saved.get("documents", 0), saved.get("shares", {})
        else:  # damaged: from the beginning
            streams = {}
        for name, written in (streams or {"train": Written(), "validation": Written()}).items():
            self._open(name, written)

    def _open(self, name: str, written: Written) -> StreamWriter:
        self.streams[name] = StreamWriter(self.folder / name, self.dtype, written)
        return self.streams[name]

    def add(self, document: Document, encoded: EncodedDocument) -> None:
        self.documents += 1
        self.streams["validation" if document.is_held_out else "train"].add(encoded)
        if not document.source or not len(encoded.tokens):
            return
        if document.is_held_out:
            name = f"{BY_SOURCE}/{document.source}"
            stream = self.streams.get(name) or self._open(name, Written())
            stream.add(encoded)
        else:
            _count(self.shares, document, encoded)

    def progress(self, new_tokens: int, seconds: float) -> Progress:
        both = [self.streams[name].written for name in ("train", "validation")]
        size, tokens = sum(one.num_bytes for one in both), sum(one.tokens for one in both)
        return Progress(self.documents, size, tokens, new_tokens, seconds)

    def save(self) -> None:
        """Makes the documents so far survive a kill."""
        for stream in self.streams.values():
            stream.save()
        written = {name: asdict(stream.written) for name, stream in self.streams.items()}
        state = {"documents": self.documents, "streams": written, "shares": self.shares}
        write_checked(self.folder / STATE, state)

    def close(self) -> None:
        """Closes the streams, finished or not."""
        for stream in self.streams.values():
            stream.close()

    def finish(self) -> dict[str, float]:
        """Finishes the streams and returns the counts."""
        (self.folder / STATE).unlink(missing_ok=True)  # what follows changes what it describes
        counts: dict[str, float] = {}
        finished = {name: stream.finish() for name, stream in self.streams.items()}
        for name in ("train", "validation"):
            counts |= {f"{name}_{key}": value for key, value in finished[name].items()}
        _check_both(int(counts["train_documents"]), int(counts["validation_documents"]))
        return counts | self.shares

    @property
    def folders(self) -> set[str]:
        """The folders of the streams."""
        return {name.partition("/")[0] for name in self.streams}


def _check_both(train: int, held_out: int) -> None:
    """Checks the documents with text of both streams.

    Raises:
        ValueError: one has none.
    """
    total = train + held_out
    if total < 2:
        raise ValueError(
            f"a corpus needs at least 2 documents with text, one of them held out, but has {total}"
        )
    if not train or not held_out:
        raise ValueError(
            f"a corpus needs documents for training and held-out ones, but all {total} with text "
            f"are {'for training' if train else 'held out'}; change corpus.validation_fraction or "
            "held_out, or give more text"
        )


def _count(shares: dict[str, float], document: Document, encoded: EncodedDocument) -> None:
    """Adds a training document of a mixture to the figures of its source."""
    prefix = f"source_{document.source}"
    figures = {"bytes": encoded.bytes.sum(), "tokens": len(encoded.tokens)}
    for name, value in figures.items():
        key = f"{prefix}_{name}"
        shares[key] = shares.get(key, 0.0) + float(value)
    shares[f"{prefix}_repeats"] = float(document.repeat)
