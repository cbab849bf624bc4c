"""Files of weights: which there are, and what the headers of safetensors say of them."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WEIGHTS = ("*.safetensors", "*.bin")
"""Formats of weights; the second is read only where there is none of the first."""


def weights(folder: Path) -> list[Path]:
    """The files of the weights."""
    for pattern in WEIGHTS:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def num_weights(folder: Path | None) -> int:
    """Numbers in the safetensors files, heads included; 0 where that is not known."""
    files = weights(folder) if folder else []
    shapes = [shape for file in files for shape in _shapes(file)]
    return sum(math.prod(shape) for shape in shapes)


def _shapes(file: Path) -> Iterator[list[int]]:
    header = _header(file) if file.suffix == ".safetensors" else {}
    yield from (entry["shape"] for name, entry in header.items() if name != "__metadata__")


def _header(file: Path) -> dict[str, Any]:
    """Of a safetensors file: 8 bytes that say how long the JSON is, which follows them."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > file.stat().st_size:
            raise ValueError("its header is cut off")
        header: dict[str, Any] = json.loads(stream.read(length))
    end = max((e["data_offsets"][1] for n, e in header.items() if n != "__metadata__"), default=0)
    if file.stat().st_size != 8 + length + end:
        raise ValueError(f"it must have {8 + length + end} bytes, but has {file.stat().st_size}")
    return header


def damage(file: Path) -> str:
    """What is wrong with a file by its header; empty if nothing, or if it has none."""
    if file.suffix != ".safetensors":
        return ""
    try:
        _header(file)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{file} is damaged or cut off: {error}"
    return ""
