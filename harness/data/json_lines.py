"""The nesting of JSON lines: deep values crash the parser of pyarrow."""

import gzip
import json
from pathlib import Path

FEW = 500
"""Brackets of a line that cannot be nested too deeply."""


def check_nesting(path: Path) -> None:
    """Refuses a file of JSON lines with values that Python's parser finds too deep. Other errors
    are left to the reader of the file.

    Raises:
        ValueError: a value is nested too deeply.
        OSError, EOFError: the file cannot be decompressed.
    """
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.count(b"[") + line.count(b"{") > FEW:
                _check_line(line, number)


def _check_line(line: bytes, number: int) -> None:
    try:
        json.loads(line)
    except RecursionError:
        raise ValueError(f"line {number}: values are nested too deeply") from None
    except ValueError:
        return
