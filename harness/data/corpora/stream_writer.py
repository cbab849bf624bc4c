"""Writes token streams, whose arrays grow by documents and can be continued after a kill."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.lib import format as npy

ARRAYS = ("tokens.npy", "bytes.npy", "sentences.npy", "documents.npy")
READ_BYTES = 2**20


@dataclass(frozen=True)
class EncodedDocument:
    """A document as tokens."""

    tokens: np.ndarray
    """[num_tokens]."""
    lengths: np.ndarray
    """[num_sentences] tokens of each; none is 0."""
    bytes: np.ndarray
    """[num_sentences] UTF-8 bytes of each."""
    num_unk: int
    num_dropped: int
    """Sentences without tokens."""


@dataclass
class Written:
    """What a stream has so far; lengths of arrays without their headers."""

    tokens: int = 0
    sentences: int = 0
    documents: int = 0
    num_bytes: int = 0
    num_unk: int = 0
    num_dropped: int = 0
    checksums: list[int] = field(default_factory=lambda: [0] * len(ARRAYS))
    """Of ARRAYS, as far as they are saved."""


@dataclass
class StreamWriter:
    """Appends documents to the arrays of a stream in `folder`.

    Args:
        written: what the folder has; whatever follows it is cut off.
    """

    folder: Path
    dtype: np.dtype
    written: Written = field(default_factory=Written)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        offsets, at = np.dtype(np.int64), self.written
        tokens, bytes_, sentences, documents = (self.folder / name for name in ARRAYS)
        sums = iter(at.checksums)
        self.tokens = _ArrayWriter(tokens, self.dtype, next(sums), at.tokens)
        self.bytes = _ArrayWriter(bytes_, offsets, next(sums), at.sentences)
        self.sentences = _ArrayWriter(sentences, offsets, next(sums), at.sentences, 1)
        self.documents = _ArrayWriter(documents, offsets, next(sums), at.documents, 1)

    def add(self, document: EncodedDocument) -> None:
        """Appends a document, unless it has no tokens."""
        at = self.written
        at.num_dropped += document.num_dropped
        if not len(document.tokens):
            return
        self.sentences.append(at.tokens + np.cumsum(document.lengths))
        self.tokens.append(document.tokens)
        self.bytes.append(document.bytes)
        at.tokens += len(document.tokens)
        at.sentences += len(document.lengths)
        at.documents += 1
        at.num_bytes += int(document.bytes.sum())
        at.num_unk += document.num_unk
        self.documents.append(np.array([at.sentences]))

    def save(self) -> None:
        """Makes what is written survive a kill."""
        for array in self._arrays:
            array.save()
        self.written.checksums = [array.checksum for array in self._arrays]

    def close(self) -> None:
        """Closes the files, finished or not."""
        for array in self._arrays:
            array.file.close()

    def finish(self) -> dict[str, float]:
        """Finishes the files and returns the counts."""
        for array in self._arrays:
            array.finish()
        at = self.written
        return {
            "tokens": float(at.tokens),
            "sentences": float(at.sentences),
            "documents": float(at.documents),
            "bytes": float(at.num_bytes),
            "unk_share": at.num_unk / max(1, at.tokens),
            "dropped_sentences": float(at.num_dropped),
        }

    @property
    def _arrays(self) -> "tuple[_ArrayWriter, ...]":
        return self.tokens, self.bytes, self.sentences, self.documents


def is_as_written(folder: Path, dtype: np.dtype, written: Written) -> bool:
    """Whether the arrays of a stream begin with what was saved of them.

    Args:
        dtype: of the tokens.
    """
    lengths = (written.tokens, written.sentences, written.sentences + 1, written.documents + 1)
    sizes = (dtype.itemsize, *[np.dtype(np.int64).itemsize] * 3)
    return all(
        not written.tokens or _checksum(folder / name, length * size) == known
        for name, length, size, known in zip(ARRAYS, lengths, sizes, written.checksums, strict=True)
    )


def _checksum(path: Path, num_bytes: int) -> int | None:
    """Of the first bytes after the header; null if the file is missing or shorter."""
    try:
        with path.open("rb") as file:
            npy.read_magic(file)
            npy.read_array_header_1_0(file)
            found = 0
            while num_bytes and (content := file.read(min(num_bytes, READ_BYTES))):
                found, num_bytes = crc32(content, found), num_bytes - len(content)
    except (OSError, ValueError):
        return None
    return None if num_bytes else found


class _ArrayWriter:
    """A one-dimensional .npy file that grows; NumPy pads the header, so its length can change."""

    def __init__(
        self, path: Path, dtype: np.dtype, checksum: int, length: int, num_zeros: int = 0
    ) -> None:
        """Opens the file after its first `num_zeros` + `length` values, which have a checksum."""
        self.dtype, self.length = dtype, length + num_zeros
        self.file = path.open("r+b" if length else "wb")
        self._write_header()
        self.checksum = checksum if length else 0
        if length:
            self.file.truncate(self.file.tell() + self.length * dtype.itemsize)
            self.file.seek(0, os.SEEK_END)
        else:
            self._write(bytes(num_zeros * dtype.itemsize))

    def append(self, values: np.ndarray) -> None:
        self._write(values.astype(self.dtype, copy=False).tobytes())
        self.length += len(values)

    def _write(self, content: bytes) -> None:
        self.file.write(content)
        self.checksum = crc32(content, self.checksum)

    def save(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())

    def finish(self) -> None:
        self.file.seek(0)
        self._write_header()
        self.file.close()

    def _write_header(self) -> None:
        description = npy.dtype_to_descr(self.dtype)
        header = {"descr": description, "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self.file, header)
