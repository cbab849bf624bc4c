"""Files of a task declared by its data: their formats, columns and the files beside them."""

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from warnings import catch_warnings

from harness.core.files import file_exists, user_path
from harness.data.hub import DAMAGED

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet"}
"""Suffix to format; text formats may end in `.gz`, too."""
SEPARATORS = {"csv": ",", "tsv": "\t"}
"""Format to what separates its cells."""
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
"""Separator to its name."""
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
            f"for other names set data.source and data.files; a data set of a plug-in needs its "
            f"module in plugins"
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
            before, _, after = train.name.rpartition("train")
            file = train.with_name(f"{before}{name}{after}")
            if file_exists(user_path(file)):
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
            return list(next(_objects(file), {}))
        head = pd.read_csv(file, nrows=0, **_csv_options(file_format))
        names = [str(name) for name in head.columns]
    except DAMAGED as error:  # errors of pandas and pyarrow are among them
        raise ValueError(_unreadable(file, file_format, error)) from error
    _check_separator(file, file_format, names)
    return names


def _check_separator(file: Path, file_format: str, names: list[str]) -> None:
    """Refuses a head that is one column because it has another separator.

    Raises:
        ValueError: it is.
    """
    wanted = DELIMITERS[SEPARATORS[file_format]]
    for separator, other in DELIMITERS.items():
        if len(names) == 1 and separator in names[0]:
            raise ValueError(
                f"{file}: columns must be separated by {wanted}, but the head has {other}: "
                f"{names[0]!r:.80}"
            )


def first_rows(file: Path, file_format: str, number: int) -> dict[str, list[Any]]:
    """Column to values of at most `number` first rows of a file; cells of CSV files are text.

    Raises:
        ValueError: the file is not in this format.
    """
    import pandas as pd
    from pandas.errors import ParserWarning

    try:
        if file_format == "parquet":
            import pyarrow.parquet as pq

            batches = pq.ParquetFile(file).iter_batches(number)
            batch = next(batches, None)
            return {} if batch is None else batch.to_pydict()
        if file_format == "jsonl":
            rows = list(islice(_objects(file), number))
            return {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
        options = {"dtype": str, "keep_default_na": False, **_csv_options(file_format)}
        with catch_warnings(action="ignore", category=ParserWarning):  # of `load_file`
            frame = pd.read_csv(file, nrows=number, **options)
        return {str(name): column.tolist() for name, column in frame.items()}
    except DAMAGED as error:
        raise ValueError(_unreadable(file, file_format, error)) from error


def _unreadable(file: Path, file_format: str, error: Exception) -> str:
    advice = "; convert it, for example with iconv" if isinstance(error, UnicodeDecodeError) else ""
    reason = " ".join(str(error).split())
    return f"{file} must be {file_format} in UTF-8, but: {reason}{advice}"


def _csv_options(file_format: str) -> dict[str, Any]:
    return {"sep": SEPARATORS[file_format], "encoding": "utf-8-sig", "index_col": False}


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file; `datasets` reads blank lines over, too."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as stream:
        for line in filter(bytes.strip, stream):
            try:
                found = json.loads(line.decode("utf-8-sig"))
            except RecursionError:
                raise ValueError("values are nested too deeply") from None
            if not isinstance(found, dict):
                raise ValueError(f"each line must be a JSON object, but one is {found!r:.40}")
            yield found
