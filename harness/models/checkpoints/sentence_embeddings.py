"""How a sentence-transformers model turns token states into an embedding, read from its folder
(Reimers and Gurevych 2019; the format of `SentenceTransformer.save`)."""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from harness.core.config import ConfigModel

MODULES = "modules.json"
"""The modules of the model in order, each with its type and its folder."""
LENGTH = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
POOLINGS: dict[str, Literal["cls", "mean", "max", "last"]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # in proportion: the same cosines
    "pooling_mode_lasttoken": "last",
}
"""Mode in the configuration of a Pooling module to `Protocol.pooling`."""


class SentenceEmbedding(ConfigModel):
    """The embedding of a text: pooled states of the last layer."""

    pooling: Literal["cls", "mean", "max", "last"] = "mean"
    normalize: bool = False
    """Whether embeddings have length 1."""
    max_length: int | None = None
    """Most tokens of a text; null: not stated."""
    problem: str = ""
    """Why the embedding cannot be computed here; empty if it can."""


def files_of(folder: Path) -> list[Path]:
    """The files in `folder` that define its embeddings; empty for other models."""
    if not (folder / MODULES).is_file():
        return []
    named = [folder / name for name in (MODULES, LENGTH, PROMPTS)]
    return [file for file in (*named, *_module_files(folder)) if file.is_file()]


def module_paths(folder: Path) -> list[str]:
    """Paths, relative to `folder`, of the configurations that its MODULES names.

    Raises:
        ValueError: MODULES is no list of modules in folders below `folder`.
    """
    if not (folder / MODULES).is_file():
        return []
    return [str(file.relative_to(folder)) for file in _module_files(folder)]


def read_embedding(folder: Path) -> SentenceEmbedding | None:
    """The embedding that the model in `folder` defines; null if it is no sentence-transformers
    model.

    Raises:
        ValueError: a file is damaged.
    """
    if not (folder / MODULES).is_file():
        return None
    kinds = {_kind(module): module for module in _modules(folder)}
    length = _read(folder / LENGTH).get("max_seq_length")
    lowercase = _read(folder / LENGTH).get("do_lower_case")
    pooling = _read(folder / kinds["Pooling"]["path"] / "config.json") if "Pooling" in kinds else {}
    modes = [name for name, used in pooling.items() if used is True and name.startswith("pooling")]
    problem = ""
    if other := [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]:
        problem = f"its embeddings pass through the module {other[0]}"
    elif len(modes) != 1 or modes[0] not in POOLINGS:
        problem = f"its pooling is {' and '.join(modes) or 'not stated'}"
    elif lowercase and not _read(folder / "tokenizer_config.json").get("do_lower_case"):
        problem = "its texts are lowercased before its tokenizer, which is cased"
    elif prompt := _read(folder / PROMPTS).get("default_prompt_name"):
        problem = f"its texts begin with the prompt {prompt!r}"
    return SentenceEmbedding(
        pooling="mean" if problem else POOLINGS[modes[0]],
        normalize="Normalize" in kinds,
        max_length=length,
        problem=f"{problem}, which is not supported; set protocol.pooling" if problem else "",
    )


def _module_files(folder: Path) -> Iterator[Path]:
    yield from (folder / one["path"] / "config.json" for one in _modules(folder) if one["path"])


def _modules(folder: Path) -> list[dict[str, str]]:
    modules: Any = _json(folder / MODULES)
    if not isinstance(modules, list) or not all({"type", "path"} <= {*one} for one in modules):
        raise ValueError(f"{folder / MODULES} must be a list of modules with type and path")
    for one in modules:
        path = PurePosixPath(one["path"])
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(
                f"{folder / MODULES}: the path of a module must lie below its folder, but is {path}"
            )
    return modules


def _kind(module: dict[str, str]) -> str:
    return module["type"].rpartition(".")[2]


def _read(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file."""
    content: dict[str, Any] = _json(file) if file.is_file() else {}
    return content


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}") from error
