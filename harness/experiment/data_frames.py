"""Data frames in an experiment that is declared in Python."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harness.core.files import write_atomically


def with_files(value: Any, folder: Path) -> Any:
    """`value` with each data frame in it written to a file, named for its content, and replaced by
    the path."""
    if isinstance(value, Mapping):
        return {name: with_files(item, folder) for name, item in value.items()}
    if not isinstance(value, pd.DataFrame):
        return value
    text = value.to_json(orient="records", lines=True, force_ascii=False)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return str(path)
