"""Files of a task declared by its data: their formats, columns and the files beside them."""

import json
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet"}
"""Suffix to format; text formats may end in `.gz`, too."""
SPLITS = {
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
"""Evaluation split to the names that its file may have, in order of preference."""


def format_of(file: str) -> str:
    """The format of a file by its suffix.

    Raises:
        ValueError: the suffix is none of `SUFFIXES`.
    """
    suffix = Path(file.removesuffix(".gz")).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"data must be a file that ends in {', '.join(SUFFIXES)} (or .gz), but is {file!r}; "
            f"for other names set data.source and data.files"
        )
    return SUFFIXES[suffix]


def evaluation_file(train: str) -> tuple[str, str] | None:
    """Split and file of the evaluation set beside a train file: `dev.csv` beside `train.csv`.

    Only a file with `train` in its name has one; null if there is none.
    """
    path = Path(train)
    return next(_beside(path), None) if "train" in path.name else None


def _beside(train: Path) -> Iterator[tuple[str, str]]:
    for split, names in SPLITS.items():
        for name in names:
            file = train.with_name(train.name.replace("train", name))
            if file.expanduser().is_file():
                yield split, str(file)


def header(file: Path, file_format: str) -> list[str]:
    """The columns of a file, by its first line or its footer.

    Raises:
        ValueError: the file is not in this format.
    """
    import pandas as pd

    try:
        if file_format == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(file).names)
        if file_format == "jsonl":
            return _fields(file)
        separator = "\t" if file_format == "tsv" else ","
        head = pd.read_csv(file, sep=separator, nrows=0, encoding="utf-8-sig", index_col=False)
        return [str(name) for name in head.columns]
    except (OSError, ValueError) as error:  # errors of pandas and pyarrow are one of them
        reason = " ".join(str(error).split())
        raise ValueError(f"{file} must be {file_format} in UTF-8, but: {reason}") from error


def _fields(file: Path) -> list[str]:
    """The keys of the object in the first line of a JSON-lines file."""
    import gzip

    with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as stream:
        first = json.loads(stream.readline().decode("utf-8-sig"))
    if not isinstance(first, dict):
        raise ValueError(f"each line must have a JSON object, and the first has {first!r:.40}")
    return list(first)
