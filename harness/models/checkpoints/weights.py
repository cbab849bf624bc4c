"""Files of weights, and the headers of safetensors files."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WEIGHTS = ("*.safetensors", "*.bin")
"""Formats of weights in order of preference."""


def weights(folder: Path) -> list[Path]:
    """The weight files in `folder`, in the preferred format; empty if there are none."""
    for pattern in WEIGHTS:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def num_weights(folder: Path | None) -> int:
    """Number of weights in the safetensors files, heads included; 0 if unknown."""
    files = weights(folder) if folder else []
    shapes = [shape for file in files for shape in _shapes(file)]
    return sum(math.prod(shape) for shape in shapes)


def _shapes(file: Path) -> Iterator[list[int]]:
    header = _header(file) if file.suffix == ".safetensors" else {}
    yield from (entry["shape"] for name, entry in header.items() if name != "__metadata__")


def _header(file: Path) -> dict[str, Any]:
    """The header of a safetensors file: 8 bytes with its length, then JSON."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > file.stat().st_size:
            raise ValueError("its header is truncated")
        header: dict[str, Any] = json.loads(stream.read(length))
    end = max((e["data_offsets"][1] for n, e in header.items() if n != "__metadata__"), default=0)
    if file.stat().st_size != 8 + length + end:
        raise ValueError(f"it must have {8 + length + end} bytes, but has {file.stat().st_size}")
    return header


def damage(file: Path) -> str:
    """The problem of a file according to its header; empty if there is none, or no header."""
    if file.suffix != ".safetensors":
        return ""
    try:
        _header(file)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{file} is damaged or truncated: {error}"
    return ""
