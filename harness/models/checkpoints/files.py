"""The files of a checkpoint: download, validation, configuration, weights and fingerprint."""

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.core.files import file_exists, folder_exists, searched_from, user_path
from harness.data import hub
from harness.data.digests import digest
from harness.data.tokenizers.saved_class import is_overruled
from harness.models import FAMILIES
from harness.models.checkpoints import sentence_embeddings
from harness.models.checkpoints.configuration import ADAPTER, check_config
from harness.models.checkpoints.weight_files import WEIGHTS, damage, index_damage, weights

CONFIG = "config.json"
METADATA = "harness.json"
"""Properties of a network that the harness trained, which transformers' configuration lacks."""
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
"""Files of a tokenizer."""
INDEX = "*.index.json"
"""The index of weights in several files."""
BESIDE = (INDEX, "generation_config.json")
"""Files that only an export copies."""
SHIFTED = ("camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "xmod")
"""Model types beside RoBERTa's whose first position comes after the id of padding, mostly 1."""
WIDTHS = ("hidden_size", "d_model", "dim", "n_embd")
"""Names that configurations have for the hidden size."""
IMPORT_VERSION = 2
"""Raised when the import of the same files changes; part of every fingerprint."""
OVERRULED_VERSION = 3
"""The same where AutoTokenizer is overruled (`is_overruled`), as it was not before."""
HUB_IMPORT_VERSION = 3
"""The same for ids on the Hub, whose fingerprints do not contain the files that are read."""


def is_folder(checkpoint: str) -> bool:
    """Whether `checkpoint` is a folder, existing or not, rather than an id of the Hub."""
    path = user_path(checkpoint)
    is_path = checkpoint.startswith((".", "/", "~")) or checkpoint.count("/") > 1
    return is_path or file_exists(path) or folder_exists(path) or "\\" in checkpoint


def found(checkpoint: str, revision: str | None) -> Path | None:
    """The local folder of a checkpoint, without a download; None if there is none."""
    if is_folder(checkpoint):
        return user_path(checkpoint)
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(checkpoint, CONFIG, revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def fetch(checkpoint: str, revision: str | None) -> Path:
    """The folder of a checkpoint, downloaded if it is an id of the Hub; its name is then the
    commit.

    Raises:
        ValueError: the Hub has no such checkpoint, or cannot be reached.
    """
    if is_folder(checkpoint):
        return user_path(checkpoint)
    own = (sentence_embeddings.MODULES, sentence_embeddings.LENGTH, sentence_embeddings.PROMPTS)
    names = [CONFIG, METADATA, *TOKENIZER, *own]
    folder = _download(checkpoint, revision, [*names, WEIGHTS[0]])
    if not list(folder.glob(WEIGHTS[0])):
        folder = _download(checkpoint, revision, [*names, WEIGHTS[1]])
    modules = sentence_embeddings.module_paths(folder)
    inside = [f"{Path(path).parent.as_posix()}/*" for path in modules]
    if (folder / METADATA).is_file():
        inside.append(sentence_embeddings.OWN_DENSE)
    if inside:
        _download(checkpoint, revision, inside, without=())
    return folder


def _download(
    checkpoint: str, revision: str | None, patterns: list[str], without: Sequence[str] = ("*/*",)
) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = [*patterns, *BESIDE]
    try:
        folder = snapshot_download(
            checkpoint, revision=revision, allow_patterns=patterns, ignore_patterns=[*without]
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
    """The first problem that a quick check of the files finds; empty if there is none."""
    if not folder_exists(folder):
        return f"there is no folder {folder}{searched_from(folder)}"
    if not (folder / CONFIG).is_file():
        adapter = "; merge the adapter into its network" if (folder / ADAPTER).exists() else ""
        return f"{folder} must be a model in Hugging Face format, but has no {CONFIG}{adapter}"
    try:
        check_config(read_config(folder), folder / CONFIG)
        own_family(folder)
        sentence_embeddings.read_embedding(folder)
    except ValueError as error:
        return str(error)
    if missing := _tokenizer_problem(folder):
        return missing
    if not weights(folder):
        return f"{folder} must contain weights, but has neither .safetensors nor .bin files"
    damaged = next((found for file in weights(folder) if (found := damage(file))), "")
    return damaged or index_damage(folder)


def _tokenizer_problem(folder: Path) -> str:
    if any((folder / name).is_file() for name in VOCABULARIES):
        return ""
    if not any(folder.glob(SENTENCEPIECE)):
        return f"{folder} must contain a tokenizer, but has no tokenizer.json"
    if find_spec("sentencepiece"):
        return ""  # transformers converts it
    return (
        f"{folder} has a SentencePiece model but no tokenizer.json: install sentencepiece, which "
        "converts it"
    )


def largest_token(tokenizer: Path) -> int:
    """The largest id of a token in a tokenizer.json; -1 if it has none.

    Raises:
        ValueError: it is no such file.
    """
    try:
        content = json.loads(tokenizer.read_text(encoding="utf-8"))
        vocabulary = content["model"]["vocab"]  # of the algorithm unigram, a list
        ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
        return int(max(-1, *ids, *(token["id"] for token in content.get("added_tokens") or ())))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{tokenizer} must be a tokenizer's, but: {error!r:.100}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a checkpoint.

    Raises:
        ValueError: it is not a JSON object.
    """
    return _read_object(folder / CONFIG)


def _read_object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"{file} must be readable, but: {error.strerror}{searched_from(file)}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{file} must be a JSON object")
    return content


def own_family(folder: Path) -> str:
    """The family of a network that the harness trained; empty for others.

    Raises:
        ValueError: METADATA is damaged.
    """
    return str(read_metadata(folder)["family"]) if (folder / METADATA).is_file() else ""


def read_metadata(folder: Path) -> dict[str, Any]:
    """Blueprint, family, representation and objective of a network that the harness trained.

    Raises:
        ValueError: it is damaged.
    """
    file = folder / METADATA
    metadata = _read_object(file)
    family = metadata.get("family")
    known = (
        FAMILIES[family].representations if isinstance(family, str) and family in FAMILIES else ()
    )
    for name, allowed in (("family", FAMILIES), ("representation", known)):
        if metadata.get(name) not in [*allowed]:
            raise ValueError(
                f"{file}: {name} must be one of {', '.join(allowed)}, but is {metadata.get(name)!r}"
            )
    parts = {
        "objective": metadata.get("objective", {}),
        "imported": metadata.get("imported", {}),
    }
    if isinstance(parts["objective"], dict):
        parts["objective.output"] = parts["objective"].get("output", {})
    for name, part in parts.items():
        if not isinstance(part, dict):
            raise ValueError(f"{file}: {name} must be a JSON object")
    if (own := metadata.get("embedding")) is not None:
        try:
            sentence_embeddings.SentenceEmbedding.read(own)
        except ValueError as error:
            raise ValueError(f"{file}: embedding is invalid: {hub.one_line(error)}") from error
    return metadata


def fingerprint(checkpoint: str, revision: str | None) -> str:
    """A string that identifies an imported checkpoint.

    It has the digest of a folder's files, or the id and revision on the Hub.
    """
    if not is_folder(checkpoint):
        return f"{HUB_IMPORT_VERSION}:hub:{checkpoint}@{revision or 'latest'}"
    folder = user_path(checkpoint)
    version = OVERRULED_VERSION if is_overruled(folder) else IMPORT_VERSION
    return f"{version}:{digest(_imported(folder))}"


def _imported(folder: Path) -> list[Path]:
    """The files in `folder` that an import reads."""
    names = (CONFIG, METADATA, *TOKENIZER, sentence_embeddings.OWN_DENSE)
    named = {file for name in names for file in folder.glob(name)}
    return [*sorted(named), *weights(folder), *sentence_embeddings.files_of(folder)]


def copy(folder: Path, out: Path) -> None:
    """Copies the files of a checkpoint to the folder `out`: what an import reads, the index of
    weights in several files, generation settings, and whole modules of sentence-transformers."""
    beside = [file for pattern in BESIDE for file in folder.glob(pattern)]
    modules = [(folder / path).parent for path in sentence_embeddings.module_paths(folder)]
    inside = [file for module in modules for file in module.rglob("*") if file.is_file()]
    for file in dict.fromkeys([*_imported(folder), *beside, *inside]):
        target = out / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def positions(config: Mapping[str, Any]) -> float:
    """Maximum input length in tokens; infinite if the configuration has none."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len")
    given = [config[name] for name in names if isinstance(config.get(name), int)]
    kind = str(config.get("model_type"))
    padding = config.get("pad_token_id")
    before_first = max(2, padding + 1) if isinstance(padding, int) else 2
    offset = before_first if "roberta" in kind or kind in SHIFTED else 0
    return given[0] - offset if given and given[0] > 0 else math.inf


def hidden_size(config: Mapping[str, Any]) -> int:
    """Width of the states; 0 if the configuration has none."""
    given = (config.get(name) for name in WIDTHS)
    return next((width for width in given if isinstance(width, int) and width > 0), 0)
