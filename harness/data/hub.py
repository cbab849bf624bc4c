"""Data sets of the Hugging Face Hub, or of a local mirror with the same layout.

With `HARNESS_DATA=<folder>` in the environment, `organisation/name` is read from
`<folder>/organisation/name` (a README with configs, and the data files), otherwise from the Hub. A
mirror may also be a copy of CoNLL-2012 in its own format (`conll2012.py`).
"""

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from harness.core.files import user_path
from harness.data import cards, conll2012
from harness.data.content_cache import content_cache
from harness.data.digests import digest
from harness.data.json_lines import check_nesting

if TYPE_CHECKING:
    from datasets import Dataset

SHUFFLE_BUFFER = 10_000
"""Rows from which the next one is drawn when a stream is shuffled."""
MIRROR = "HARNESS_DATA"
"""Environment variable with the folder of mirrors."""
DAMAGED = (ValueError, OSError, EOFError, zlib.error, StopIteration)
"""Errors of damaged files: two of gzip, and the last of JSON lines without any."""


def mirror(path: str) -> Path | None:
    """The mirror of the Hub repository `path`, or None if the Hub itself is used.

    Raises:
        ValueError: `HARNESS_DATA` is set, but lacks the folder.
    """
    root = os.environ.get(MIRROR)
    if not root:
        return None
    folder = user_path(root) / path
    if not folder.is_dir():
        raise ValueError(
            f"{MIRROR} must contain a folder for every data set, but {folder} does not exist: "
            f"copy the Hub repository {path} to it, or unset {MIRROR} to download"
        )
    return folder


def load(path: str, config: str | None, split: str, revision: str | None) -> "Dataset":
    """A split of a data set.

    Raises:
        ValueError: no such mirror, config or split, or the Hub cannot be reached.
    """
    import datasets

    datasets.disable_progress_bars()
    folder = mirror(path)
    with _clear_errors(path, config, split):
        if folder is None:
            return datasets.load_dataset(path, config, split=split, revision=revision)
        if conll2012.files_in(folder):
            return datasets.Dataset.from_list(conll2012.rows(folder, split))
        with content_cache("mirror", lambda: fingerprint(path, config, revision)) as cache:
            return datasets.load_dataset(str(folder), config, split=split, cache_dir=cache)


def stream(
    path: str, config: str | None, split: str, revision: str | None, shuffle_seed: int | None
) -> Iterator[dict[str, Any]]:
    """The rows of a split, read over the network without a copy on disk.

    Args:
        shuffle_seed: of the order of files, and of rows in a buffer of SHUFFLE_BUFFER; null: the
            order of the data set.

    Raises:
        ValueError: no such mirror, config or split, or the Hub cannot be reached.
    """
    import datasets

    with _clear_errors(path, config, split):
        folder = mirror(path)
        found = datasets.load_dataset(
            str(folder or path),
            config,
            split=split,
            revision=None if folder else revision,
            streaming=True,
        )
        if shuffle_seed is not None:
            found = found.shuffle(seed=shuffle_seed, buffer_size=SHUFFLE_BUFFER)
        yield from found


@contextmanager
def _clear_errors(path: str, config: str | None, split: str) -> Iterator[None]:
    """Turns the errors of reading a data set into one line.

    Raises:
        ValueError: whatever fails, and what to do.
    """
    import datasets
    from huggingface_hub.errors import LocalEntryNotFoundError

    where = f"{path} (config {config or 'default'}, split {split})"
    try:
        yield
    except (ConnectionError, TimeoutError, LocalEntryNotFoundError) as error:
        raise ValueError(
            f"{where} must be read from the Hub, but it cannot be reached ({error}): connect, or "
            f"set {MIRROR} to a folder with a copy of it"
        ) from error
    except (
        *(ImportError, RuntimeError),  # a library or a script is needed
        *DAMAGED,
        datasets.exceptions.DatasetsError,
    ) as error:
        # Errors of pyarrow are ValueError or OSError; errors of a builder hide the cause.
        reason = one_line(error.__cause__ or error)
        advice = f"'harness data verify {path}' shows details"
        if "zstd not supported" in reason:
            advice = "'pip install zstandard' adds it"
        raise ValueError(
            f"{where} cannot be read from {mirror(path) or 'the Hub'}: {reason}; {advice}"
        ) from error


def one_line(error: BaseException) -> str:
    """The message of an error in one line."""
    name = "it has no rows" if isinstance(error, StopIteration) else type(error).__name__
    return " ".join(str(error).split()) or name


# Only empty cells are null: "None" and "NA" may be class names. Of rows with more cells than the
# head, pandas would take the first cell for an index, which shifts the others.
CELLS = {"keep_default_na": False, "na_values": [""], "index_col": False, "low_memory": False}
FILE_FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "csv": ("csv", CELLS),
    "tsv": ("csv", {**CELLS, "sep": "\t"}),
    "jsonl": ("json", {}),
    "parquet": ("parquet", {}),
}
"""Format of a local file to the builder of `datasets` with its options; of csv, those of pandas."""
LONG_ROW = "a row has more cells than the head; quote the cells that contain a separator"


def load_file(file_format: str, path: Path) -> "Dataset":
    """The rows of a local file, which may be compressed by gzip.

    Args:
        file_format: a name in `FILE_FORMATS`.

    Raises:
        ValueError: it cannot be parsed.
    """
    import datasets
    import pandas as pd
    from pandas.errors import ParserWarning

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # errors are raised
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # the Hub would count the reading of a file
    builder, options = FILE_FORMATS[file_format]
    try:
        if file_format == "jsonl":
            check_nesting(path)
        with content_cache("file", lambda: digest([path])) as cache:
            if builder == "csv":  # whose builder takes types of columns from the first 10,000 rows
                with catch_warnings(action="error", category=ParserWarning):
                    cells = pd.read_csv(path, **options)
                return datasets.Dataset.from_pandas(cells, preserve_index=False)
            files = {"rows": escape(str(path))}  # which are patterns
            return datasets.load_dataset(
                builder, data_files=files, split="rows", cache_dir=cache, **options
            )
    except (
        *(*DAMAGED, RecursionError, OverflowError, ParserWarning),
        datasets.exceptions.DatasetsError,
    ) as error:
        cause = error.__cause__ or error
        reason = LONG_ROW if isinstance(cause, ParserWarning) else one_line(cause)
        if isinstance(cause, UnicodeDecodeError):
            reason += "; convert it to UTF-8, for example with iconv"
        raise ValueError(f"{path} cannot be read as {file_format}: {reason}") from error


def fingerprint(path: str, config: str | None, revision: str | None) -> str:
    """A string that identifies the content of a config, computed without loading it.

    It has the digest of the mirror's files, or the pinned commit of the Hub repository.

    Raises:
        ValueError: `HARNESS_DATA` is set, but lacks the repository or the config.
    """
    folder = mirror(path)
    if folder is None:
        return f"hub:{path}@{revision or 'latest'}/{config or 'default'}"
    return digest(config_files(folder, config))


def has_config(path: str, config: str | None, split: str | None = None) -> bool:
    """Whether the mirror has this repository, config and split; always true for the Hub itself."""
    root = os.environ.get(MIRROR)
    if not root:
        return True
    folder = user_path(root) / path
    if not folder.is_dir():
        return False
    entries = cards.configs(cards.card(folder))
    listed = [entry for entry in entries if config in (None, cards.name_of(entry))]
    return not entries or any(split in (None, *cards.splits(entry)) for entry in listed)


def config_files(folder: Path, config: str | None) -> list[Path]:
    """The data files of `config` according to the mirror's card; all files if it has no configs.

    Raises:
        ValueError: no such config, or no files.
    """
    patterns = patterns_of(folder, [config]) or ["**/*"]
    files = sorted({file for glob in patterns for file in visible(folder, glob)})
    if not files:
        raise ValueError(
            f"the mirror {folder} must contain the data files of config {config}, but has none of "
            f"{', '.join(patterns)}: copy them from the Hub repository"
        )
    return files


def patterns_of(folder: Path, configs: Iterable[str | None]) -> list[str]:
    """Glob patterns of the data files of `configs`; empty if the card in `folder` has no configs.

    Raises:
        ValueError: no such config.
    """
    entries = cards.configs(cards.card(folder))
    names = [cards.name_of(entry) for entry in entries]
    found: list[str] = []
    for config in configs if names else ():
        name = names[0] if config is None and len(names) == 1 else config
        if name not in names:
            known = ", ".join(names)
            raise ValueError(f"the mirror {folder} has no config {config!r}; it has {known}")
        for entry in entries:
            found += cards.patterns(entry) if cards.name_of(entry) == name else ()
    return list(dict.fromkeys(found))


def visible(folder: Path, pattern: str) -> Iterator[Path]:
    """Files that match a glob pattern, without hidden files and folders."""
    for file in folder.glob(pattern):
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(folder).parts):
            yield file
