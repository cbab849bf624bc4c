"""The files of a user's own corpus, and their lines."""

import gzip
import io
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

from harness.core.files import file_exists, folder_exists, searched_from, user_path
from harness.data import python_stdlib
from harness.data.corpora.sources import LocalCorpus, StdlibCorpus

SUFFIXES = {"text": ".txt", "jsonl": ".jsonl", "parquet": ".parquet"}
"""Source to the suffix of its files in a folder."""
COMPRESSED = (".gz", ".zst")
"""Suffixes of compressed text; parquet files are compressed inside."""
PACKED = (".bz2", ".xz", ".zip", ".7z", ".tar", ".tgz")
"""Suffixes of compressed files and archives that no source reads."""
TABLES = (".csv", ".tsv", ".xlsx")
"""Suffixes of files that no source reads."""
MAX_CHARACTERS = 2**24
"""Longest document and line: beyond it, a file without line ends would fill the memory."""


def source_of(path: str) -> str | None:
    """The source that reads a path, by its suffixes; `text` for other patterns and for what exists;
    null for what is no path."""
    suffixes = Path(path.lower()).suffixes
    named = next((source for source, suffix in SUFFIXES.items() if suffix in suffixes), None)
    is_path = "*" in path or user_path(path).exists()
    return named or ("text" if is_path else None)


def corpus_files(corpus: LocalCorpus) -> list[Path]:
    """The files of a local corpus, sorted.

    Raises:
        ValueError: no files, or files of another format.
    """
    if isinstance(corpus, StdlibCorpus):
        return python_stdlib.files("train")
    files = found_files(corpus)
    if not files:
        raise ValueError(
            f"corpus.path must name a {' or '.join(_endings(corpus.source))} file, a folder of "
            f"them or a glob pattern, but {corpus.path!r} matches no file"
            f"{searched_from(user_path(corpus.path))}"
        )
    for file in files:
        _check_suffix(file, corpus.source)
    return files


def found_files(corpus: LocalCorpus) -> list[Path]:
    """The files of a local corpus, sorted, also of another format; empty if there are none."""
    if isinstance(corpus, StdlibCorpus):
        return python_stdlib.files("train")
    path = user_path(corpus.path)
    if file_exists(path):
        return [path]
    endings = tuple(_endings(corpus.source)) if folder_exists(path) else ""
    return sorted(file for file in matching(corpus.path) if file.name.lower().endswith(endings))


def _endings(source: str) -> list[str]:
    ending = SUFFIXES[source]
    return [ending, *(ending + one for one in COMPRESSED if source != "parquet")]


def matching(path: str) -> Iterator[Path]:
    """The files in a folder, or that match a glob pattern, without hidden files and folders that
    the path does not name: these are copies and notes of editors and systems."""
    whole = user_path(path)
    anchor = Path(whole.anchor)
    found = (
        whole.rglob("*") if folder_exists(whole) else anchor.glob(str(whole.relative_to(anchor)))
    )
    most = _num_hidden(whole)
    return (file for file in found if _num_hidden(file) <= most and file_exists(file))


def _num_hidden(path: Path) -> int:
    """How many parts of a path begin with a dot."""
    return sum(part.startswith(".") for part in path.parts)


def _check_suffix(file: Path, source: str) -> None:
    """Refuses a file in a format whose marks would be read as text.

    Raises:
        ValueError: it is an archive, a table, or of another source.
    """
    name = file.name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    suffix = Path(name).suffix
    if suffix in PACKED:
        raise ValueError(
            f"corpus.path must name plain files, or ones compressed singly by gzip or zstd "
            f"({', '.join(COMPRESSED)}), but {file} is none; unpack it"
        )
    if suffix in TABLES:
        raise ValueError(
            f"corpus.path must name text, JSON lines or parquet, but {file} is a table; write its "
            'texts to a .jsonl file, {"text": ...} in each line, and set corpus.source to jsonl'
        )
    if (suffix == ".parquet") != (source == "parquet"):
        raise ValueError(
            f"corpus.source must be parquet for parquet files alone, but is {source} for {file}"
        )
    if source == "text" and suffix in (".jsonl", ".json"):
        raise ValueError(
            f"corpus.path must name plain text, but {file} holds JSON; set corpus.source to jsonl"
        )


def corpus_bytes(corpus: LocalCorpus) -> int:
    """Size of the text of a local corpus, compressed files as if they held three times as much.

    Raises:
        ValueError: no files.
    """
    packed = (*COMPRESSED, SUFFIXES["parquet"])
    files = corpus_files(corpus)
    return sum((3 if _suffix(file) in packed else 1) * file.stat().st_size for file in files)


def _suffix(file: Path) -> str:
    return file.suffix.lower()


def lines(file: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, decompressed if its name ends in .gz or .zst.

    Raises:
        ValueError: it cannot be read, or has a line of more than MAX_CHARACTERS.
    """
    kinds = {".gz": "gzip and UTF-8", ".zst": "zstd and UTF-8"}
    try:
        with _opened(file) as stream:
            numbered = enumerate(iter(partial(stream.readline, MAX_CHARACTERS + 1), ""), start=1)
            for number, line in numbered:
                check_length(len(line), f"{file}:{number}")
                yield line
    except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        advice = "; convert it to UTF-8, for example with iconv"
        raise ValueError(
            f"{file} must be {kinds.get(_suffix(file), 'UTF-8')} text, but {error}"
            f"{advice * isinstance(error, UnicodeDecodeError)}"
        ) from error


def check_length(num_characters: int, where: str) -> None:
    """Refuses a document or line that is too long.

    Raises:
        ValueError: it has more than MAX_CHARACTERS.
    """
    if num_characters > MAX_CHARACTERS:
        raise ValueError(
            f"{where}: a document must have at most {MAX_CHARACTERS:,} characters, but has more; "
            "split it, in plain text by blank lines"
        )


def _opened(file: Path) -> TextIO:
    if _suffix(file) == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="\n")
    if _suffix(file) == ".zst":
        import pyarrow as pa

        # Arrow reads all frames of a file and notices when the last is cut off.
        raw = pa.input_stream(str(file), compression="zstd")
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n")
    return file.open(encoding="utf-8-sig", newline="\n")
