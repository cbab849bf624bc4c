"""What the files of someone else's checkpoint say of it, without loading the network."""

import json
import math
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.data import hub
from harness.models.checkpoints.weights import WEIGHTS, damage, weights

CONFIG, NOTE = "config.json", "harness.json"
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json")
SENTENCEPIECE = "*.model"
TOKENIZER = (
    *VOCABULARIES,
    SENTENCEPIECE,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
)
"""Names of the files that make a tokenizer."""
ADOPTION = 2
"""Raised when something else is made of the same files; part of every fingerprint."""


def is_folder(checkpoint: str) -> bool:
    """Whether a folder is meant, be it there or not, and no id of the Hub."""
    path = Path(checkpoint).expanduser()
    written_so = checkpoint.startswith((".", "/", "~")) or checkpoint.count("/") > 1
    return path.exists() or written_so or "\\" in checkpoint


def found(checkpoint: str, revision: str | None) -> Path | None:
    """The folder of a checkpoint, where it can be looked into without a network; of the Hub's, what
    was downloaded before."""
    if is_folder(checkpoint):
        return Path(checkpoint).expanduser()
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(checkpoint, CONFIG, revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def fetch(checkpoint: str, revision: str | None) -> Path:
    """The folder of a checkpoint, downloaded where it is the Hub's; its name is then the commit.

    Raises:
        ValueError: the Hub has no such checkpoint, or cannot be reached.
    """
    if is_folder(checkpoint):
        return Path(checkpoint).expanduser()
    names = [CONFIG, NOTE, *TOKENIZER]
    folder = _download(checkpoint, revision, [*names, WEIGHTS[0]])
    if not list(folder.glob(WEIGHTS[0])):
        folder = _download(checkpoint, revision, [*names, WEIGHTS[1]])
    return folder


def _download(checkpoint: str, revision: str | None, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = [*patterns, "*.index.json"]
    try:
        folder = snapshot_download(
            checkpoint, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"]
        )
    except LocalEntryNotFoundError as error:
        raise ValueError(
            f"{checkpoint} must be read from the Hub, which cannot be reached: connect, or give a "
            "folder"
        ) from error
    except (HfHubHTTPError, HFValidationError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{checkpoint} cannot be read from the Hub: {reason}") from error
    return Path(folder)


def problem(folder: Path) -> str:
    """What is wrong with a checkpoint's files, as far as a look at them tells; empty if nothing."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if not (folder / CONFIG).is_file():
        return f"{folder} must be a model in Hugging Face format, but has no {CONFIG}"
    try:
        read_config(folder)
    except ValueError as error:
        return str(error)
    if why := _without_tokenizer(folder):
        return why
    if not weights(folder):
        return f"{folder} must have its weights, but has neither .safetensors nor .bin files"
    return next((why for file in weights(folder) if (why := damage(file))), "")


def _without_tokenizer(folder: Path) -> str:
    if any((folder / name).is_file() for name in VOCABULARIES):
        return ""
    if not any(folder.glob(SENTENCEPIECE)):
        return f"{folder} must have its tokenizer beside the weights, but has no tokenizer.json"
    if find_spec("sentencepiece"):
        return ""  # transformers converts it
    return (
        f"{folder} has a SentencePiece model but no tokenizer.json: install sentencepiece, which "
        "converts it"
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's configuration as it stands.

    Raises:
        ValueError: it is no JSON object.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{folder / CONFIG} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{folder / CONFIG} must hold a mapping of fields")
    return config


def own_family(folder: Path) -> str:
    """The family here of a network of our own; empty for someone else's."""
    note = folder / NOTE
    return str(json.loads(note.read_text())["family"]) if note.is_file() else ""


def fingerprint(checkpoint: str, revision: str | None) -> str:
    """What identifies a checkpoint as it is adopted: the content of a folder's files, wherever it
    lies; id and revision of the Hub's."""
    if not is_folder(checkpoint):
        return f"{ADOPTION}:hub:{checkpoint}@{revision or 'latest'}"
    folder = Path(checkpoint).expanduser()
    told = {file for name in (CONFIG, NOTE, *TOKENIZER) for file in folder.glob(name)}
    return f"{ADOPTION}:{hub.digest([*sorted(told), *weights(folder)])}"


def positions(config: Mapping[str, Any]) -> float:
    """Longest input in tokens; without bound where the configuration names none."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len")
    given = [config[name] for name in names if isinstance(config.get(name), int)]
    spare = 2 if "roberta" in str(config.get("model_type")) else 0  # before the first position
    return given[0] - spare if given and given[0] > 0 else math.inf
