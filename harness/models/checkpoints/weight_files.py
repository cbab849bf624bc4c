"""The files of weights in a checkpoint: their names and shapes, without loading them."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.data.digests import file_digest

WEIGHTS = ("*.safetensors", "*.bin")
"""Formats of weights in order of preference."""
OLD_BUFFERS = (
    *(".attn.bias", ".attn.masked_bias", ".attn.attention.bias", ".attn.attention.masked_bias"),
    *(".attention.bias", ".attention.masked_bias", ".inv_freq", ".position_ids", ".version"),
)
"""Constants in files of earlier versions of transformers, such as causal masks."""
CONSTANTS = (
    *("final_logits_bias", "embeddings.spelling", "position_embeddings.table", "wpe.table"),
    "EncDecAttention.relative_attention_bias.weight",
)
"""Ends of the names of other constants: of BART, of our networks with characters of tokens, or
sines and cosines, and what the files of T5 have beside its weights."""
SINGLE = {".safetensors": "model.safetensors", ".bin": "pytorch_model.bin"}
"""Ending to the file that transformers reads before an index of several."""


def weights(folder: Path) -> list[Path]:
    """The weight files in `folder`, in the preferred format; empty if there are none."""
    for pattern in WEIGHTS:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def index_damage(folder: Path) -> str:
    """The problem of the index of weights in several files, which must be those of `folder`; empty
    if there is none, or transformers reads no index."""
    try:
        read_by_transformers(folder)
    except ValueError as error:
        return str(error)
    return ""


def read_by_transformers(folder: Path) -> list[Path]:
    """Of the weight files in `folder`, the single one, or those of the index; all without either.
    Others hold the same weights in another format (Mistral's consolidated.safetensors), or none.

    Raises:
        ValueError: the index is damaged, or names other files.
    """
    found = {file.name: file for file in weights(folder)}
    single = SINGLE[Path(min(found)).suffix] if found else ""
    if single in found:
        return [found[single]]
    index = folder / f"{single}.index.json"
    if not single or not index.is_file():
        return [*found.values()]
    try:
        named = {*json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"{index} must be a JSON object whose weight_map names the file of each weight"
        ) from None
    if other := sorted(map(str, named - {*found})):
        raise ValueError(f"{index} must name files of weights in its folder, but names {other[0]}")
    return [found[name] for name in sorted(named)]


def num_weights(folder: Path | None) -> int:
    """Number of weights in the safetensors files, heads included, without constants; 0 if
    unknown, as of files that were not all downloaded yet."""
    shapes = tensor_shapes(folder) if folder and not index_damage(folder) else {}
    fixed = _fixed_positions(folder) if folder else ()
    return sum(
        math.prod(shape)
        for name, shape in shapes.items()
        if not name.endswith((*CONSTANTS, *fixed)) and not _is_buffer(name, shape)
    )


def _is_buffer(name: str, shape: list[int]) -> bool:
    """Whether a tensor is one of OLD_BUFFERS; a vector `attention.bias` may be a weight."""
    is_weight = name.endswith(".bias") and len(shape) == 1
    return name.endswith(OLD_BUFFERS) and not is_weight


def _fixed_positions(folder: Path) -> tuple[str, ...]:
    """The ends of the names of fixed sines and cosines, which our Transformer saves."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ()
    is_marian = isinstance(config, dict) and config.get("model_type") == "marian"
    return ("embed_positions.weight",) if is_marian else ()


def tensor_shapes(folder: Path) -> dict[str, list[int]]:
    """Name to shape of the weights in the safetensors files; empty if there are none.

    Raises:
        ValueError: a file is damaged, or as `read_by_transformers`.
    """
    found = [file for file in read_by_transformers(folder) if file.suffix == ".safetensors"]
    entries = (_tensors(_header(file)) for file in found)
    return {name: entry["shape"] for one in entries for name, entry in one.items()}


def weights_digest(folder: Path) -> str:
    """SHA-256 of the file of weights, which the Hub shows, too; of several files, that of their
    digests in order. Empty if there are none.

    Raises:
        ValueError: as `read_by_transformers`.
    """
    digests = [file_digest(file) for file in read_by_transformers(folder)]
    total = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()
    return f"sha256:{total.hex()}" if digests else ""


def _header(file: Path) -> dict[str, Any]:
    """The header of a safetensors file: 8 bytes with its length, then JSON.

    Raises:
        ValueError: it is damaged, or the file has another length than it says.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > size - 8:
            raise ValueError(f"{file} is damaged or truncated: its header is truncated")
        content = stream.read(length)
    try:
        header = json.loads(content)
        ends = [_end(name, entry) for name, entry in _tensors(header).items()]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: its header cannot be read: {error}") from error
    expected = 8 + length + max(ends, default=0)
    if size != expected:
        raise ValueError(
            f"{file} is damaged or truncated: it must have {expected} bytes, but has {size}"
        )
    return dict(header)


def _tensors(header: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _end(name: str, entry: Mapping[str, Any]) -> int:
    """The offset after a tensor."""
    begin, end = entry["data_offsets"]
    numbers = [begin, end, *entry["shape"]]
    if not all(isinstance(number, int) and number >= 0 for number in numbers) or end < begin:
        raise ValueError(f"{name} has the offsets {begin} to {end} and the shape {entry['shape']}")
    return int(end)


def damage(file: Path) -> str:
    """The problem of a file according to its header; empty if there is none, or no header."""
    if file.suffix != ".safetensors":
        return ""
    try:
        _header(file)
    except ValueError as error:
        return str(error)
    return ""
