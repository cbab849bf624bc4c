"""What the configuration of a checkpoint may contain: nothing that makes transformers fetch or run
something other than the files of the checkpoint."""

import math
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ATTENTION = {
    "eager": "",
    "sdpa": "",
    "flex_attention": "",
    "flash_attention_2": "flash_attn",
    "flash_attention_3": "flash_attn_interface",
}
"""Attention implementation of transformers to the package that it needs. Other names are those of
repositories, whose code transformers downloads and runs; so it does where the package is
missing."""
ADAPTER = "adapter_config.json"
"""The file of an adapter, which names the network that it belongs to."""
ELSEWHERE = ("transformers_weights", "quantization_config", "fusion_config")
"""Fields that let other files or packages make the weights."""
MAX_LAYERS = 1000
MAX_POSITIONS = 10**8
"""Limits of what is built before its weights are read."""


def check_config(config: Mapping[str, Any], file: Path) -> None:
    """Checks a configuration before transformers reads it.

    Args:
        config: the content of `file`.

    Raises:
        ValueError: a field is not allowed, or its value is out of bounds.
    """
    beside = file.parent / ADAPTER
    if beside.exists():
        raise ValueError(
            f"{beside} makes this checkpoint an adapter of another network, which is not loaded: "
            "save the merged network (model.merge_and_unload() of peft) to a folder of its own"
        )
    if found := next((name for name in ELSEWHERE if config.get(name) is not None), ""):
        raise ValueError(
            f"{file}: {found} must not be set: the weights must be all in this folder, as floating-"
            "point numbers; save the whole network with save_pretrained of transformers"
        )
    for name, value in _fields(config):
        _check_attention(name, value, file)
        _check_number(name, value, file)


def _fields(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields of a configuration and of those within it, which are of parts of the network."""
    for name, value in config.items():
        yield name, value
        if isinstance(value, Mapping):
            yield from _fields(value)


def _check_attention(name: str, value: Any, file: Path) -> None:
    if not name.strip("_").startswith("attn_implementation") or value is None:
        return
    for chosen in value.values() if isinstance(value, Mapping) else [value]:
        if not isinstance(chosen, str) or chosen not in ATTENTION:
            raise ValueError(
                f"{file}: {name} must be one of {', '.join(ATTENTION)}, which transformers has "
                f"itself, but is {chosen!r}; code from elsewhere is never run"
            )
        package = ATTENTION[chosen]
        if package and not find_spec(package):
            raise ValueError(
                f"{file}: {name} is {chosen}, which needs the package {package}: install it, or "
                "remove the field"
            )


def _check_number(name: str, value: Any, file: Path) -> None:
    """Bounds numbers of layers and positions: networks are built before weights are compared."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{file}: {name} must be a finite number, but is {value}")
    is_depth = name.endswith(("layer", "layers"))
    most = MAX_LAYERS if is_depth else MAX_POSITIONS if "position" in name else 0
    if most and isinstance(value, int | float) and value > most:
        raise ValueError(f"{file}: {name} must be at most {most:,}, but is {value:,}")
