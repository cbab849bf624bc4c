"""Which class reads a saved tokenizer."""

import json
from pathlib import Path
from typing import Any

GENERIC = "TokenizersBackend"
"""What transformers 5 calls a tokenizer that is no more than its tokenizer.json."""
OVERRULED = ("qwen2",)
"""Types of networks for which AutoTokenizer builds the published tokenizer, whatever the files are:
those of MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS in transformers that are families here."""


def is_overruled(folder: Path) -> bool:
    """Whether AutoTokenizer splits texts otherwise than the tokenizer that was saved to `folder`:
    that of a Qwen that was trained here, or by others with a tokenizer of their own."""
    own = _read(folder / "tokenizer_config.json").get("tokenizer_class") == GENERIC
    has_file = (folder / "tokenizer.json").is_file()
    return own and has_file and _read(folder / "config.json").get("model_type") in OVERRULED


def _read(file: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
