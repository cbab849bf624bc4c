"""What the files of someone else's checkpoint say of it, without loading the network."""

import json
import math
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness import hub

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
WEIGHTS = ("*.safetensors", "*.bin")
"""Formats of weights; the second is read only where there is none of the first."""

CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel")
CAUSAL = ("gpt2", "openai-gpt", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "llama", "mistral")
"""Model types that read left to right, for checkpoints whose architectures do not say so."""
BY_TYPE = {
    "xlnet": "plm",
    "electra": "rtd",
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "switch_transformers"), "span_corruption"),
}
BY_READING = {
    "causal": "clm",
    "prefix": "clm",
    "two_way": "bilm",
    "permuted": "plm",
    "window": "cbow",
    "encoder_decoder": "denoising_infill",
}
"""Objectives of networks of our own that do not say what they were trained on."""


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
    return next((why for file in weights(folder) if (why := _damage(file))), "")


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


def weights(folder: Path) -> list[Path]:
    """The files of the weights."""
    for pattern in WEIGHTS:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def fingerprint(checkpoint: str, revision: str | None) -> str:
    """What identifies a checkpoint: the content of a folder's files, wherever it lies; id and
    revision of the Hub's."""
    if not is_folder(checkpoint):
        return f"hub:{checkpoint}@{revision or 'latest'}"
    folder = Path(checkpoint).expanduser()
    told = {file for name in (CONFIG, NOTE, *TOKENIZER) for file in folder.glob(name)}
    return hub.digest([*sorted(told), *weights(folder)])


def objective_name(config: Mapping[str, Any]) -> str:
    """The objective here that is nearest to what a network was trained on, by its configuration."""
    kind = str(config.get("model_type", ""))
    architecture = next(iter(config.get("architectures") or ()), "")
    if kind == "electra" and architecture.endswith("ForMaskedLM"):
        return "mlm"  # a generator
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if config.get("is_encoder_decoder"):
        return "denoising_infill"
    reads_on = kind in CAUSAL or architecture.endswith(CAUSAL_ENDINGS) or config.get("is_decoder")
    return "clm" if reads_on else "mlm"


def learned(folder: Path) -> str | dict[str, Any]:
    """The objective of the checkpoint in `folder`: its name, or, of a network of our own, all of
    it."""
    if not (folder / NOTE).is_file():
        return objective_name(read_config(folder))
    note = json.loads((folder / NOTE).read_text())
    objective: dict[str, Any] = note.get("objective") or {}
    return objective or BY_READING.get(note["representation"], "mlm")


def positions(config: Mapping[str, Any]) -> float:
    """Longest input in tokens; without bound where the configuration names none."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len")
    given = [config[name] for name in names if isinstance(config.get(name), int)]
    spare = 2 if "roberta" in str(config.get("model_type")) else 0  # before the first position
    return given[0] - spare if given and given[0] > 0 else math.inf


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


def _damage(file: Path) -> str:
    if file.suffix != ".safetensors":
        return ""
    try:
        _header(file)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{file} is damaged or cut off: {error}"
    return ""
