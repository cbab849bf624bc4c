"""How a sentence-transformers model turns token states into an embedding, read from its folder
(Reimers and Gurevych 2019; the format of `SentenceTransformer.save`)."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field

from harness.core.config import ConfigModel
from harness.data.hub import one_line
from harness.models.checkpoints.weight_files import weights

MODULES = "modules.json"
"""The modules of the model in order, each with its type and its folder."""
LENGTH = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
UNLIMITED = 1_000_000
"""From here on, a length stands for none: transformers writes 10^30."""
SENTENCE = "sentence_embedding"
"""What a Dense module reads unless its configuration says otherwise."""
OWN_DENSE = "dense/model.safetensors"
"""Weights of the dense layers in a folder of a network that the harness saved."""
ORDER = ("Transformer", "Pooling", "Dense", "Normalize")
"""Types of modules that are supported, in the order in which they must stand."""

Pooling = Literal["cls", "max", "mean", "mean_sqrt_len", "weighted_mean", "last"]
POOLINGS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weighted_mean",
    "pooling_mode_lasttoken": "last",
}
"""Mode in the configuration of a Pooling module to pooling, in the order in which several are
concatenated, whatever their order in the file (sentence_transformers/models/Pooling.py)."""

NEW_MODES: dict[str, str] = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
"""Value of `pooling_mode`, which newer versions write (one, or a list in the order of
concatenation), to mode (sentence_transformers/sentence_transformer/modules/pooling.py, 6.2)."""

Activation = Literal["tanh", "identity", "relu", "gelu"]
ACTIVATIONS: dict[str, Activation] = {
    "Tanh": "tanh",
    "Identity": "identity",
    "ReLU": "relu",
    "GELU": "gelu",
}
"""Class in the configuration of a Dense module, whose name alone is read, to activation."""


class Dense(ConfigModel):
    """A linear layer and an activation, from pooled states to the embedding."""

    in_features: int = Field(ge=1)
    out_features: int = Field(ge=1)
    bias: bool = True
    activation: Activation = "tanh"


class SentenceEmbedding(ConfigModel):
    """The embedding of a text: pooled states of the last layer, through dense layers if any."""

    pooling: Pooling | tuple[Pooling, ...] = "mean"
    """Several are concatenated."""
    dense: tuple[Dense, ...] = ()
    normalize: bool = False
    """Whether embeddings have length 1."""
    max_length: int | None = None
    """Most tokens of a text; null: not stated."""
    problem: str = ""
    """Why the embedding cannot be computed here; empty if it can."""

    @property
    def poolings(self) -> tuple[Pooling, ...]:
        """All poolings in the order of their concatenation."""
        return (self.pooling,) if isinstance(self.pooling, str) else self.pooling

    def widths(self, hidden_size: int) -> list[int]:
        """The width of the pooled states, then that behind each dense layer."""
        return [len(self.poolings) * hidden_size, *(layer.out_features for layer in self.dense)]


def files_of(folder: Path) -> list[Path]:
    """The files in `folder` that define its embeddings; empty for other models."""
    if not (folder / MODULES).is_file():
        return []
    named = [folder / name for name in (MODULES, LENGTH, PROMPTS)]
    configs = [file for file in (*named, *_module_files(folder)) if file.is_file()]
    return [*configs, *dense_weights(folder)]


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
    modules = _modules(folder)
    kinds = [_kind(module) for module in modules]
    length, modes = _max_length(folder), _modes(folder, modules)
    known = {"normalize": "Normalize" in kinds, "max_length": length}
    if why := _problem(folder, modules, modes):
        return SentenceEmbedding(
            **known, problem=f"{why}, which is not supported; set protocol.pooling"
        )
    poolings = tuple(POOLINGS[mode] for mode in modes)
    return SentenceEmbedding(
        **known,
        pooling=poolings if len(poolings) > 1 else poolings[0],
        dense=tuple(_dense(folder, path) for path in _dense_paths(modules)),
    )


def dense_weights(folder: Path) -> list[Path]:
    """The first file of weights of each Dense module of the model in `folder`, in order.

    Raises:
        ValueError: MODULES is damaged.
    """
    if not (folder / MODULES).is_file():
        return []
    found = [weights(folder / path) for path in _dense_paths(_modules(folder))]
    return [files[0] for files in found if files]


def _problem(folder: Path, modules: Sequence[dict[str, str]], modes: Sequence[str]) -> str:
    """What of the model in `folder` is not supported; empty if all is."""
    kinds = [_kind(module) for module in modules]
    if other := [kind for kind in kinds if kind not in ORDER]:
        return f"its embeddings pass through the module {other[0]}"
    if not modes or not {*modes} <= {*POOLINGS}:
        return f"its pooling is {' and '.join(modes) or 'not stated'}"
    if kinds != sorted(kinds, key=ORDER.index) or kinds.count("Pooling") > 1:
        return f"its modules are {', '.join(kinds)} in this order"
    for path in _dense_paths(modules):
        if why := _dense_problem(folder / path):
            return why
    lowercase = _read(folder / LENGTH).get("do_lower_case")
    if lowercase and not _read(folder / "tokenizer_config.json").get("do_lower_case"):
        return "its texts are lowercased before its tokenizer, which is cased"
    prompt = _read(folder / PROMPTS).get("default_prompt_name")
    return f"its texts begin with the prompt {prompt!r}" if prompt else ""


def _max_length(folder: Path) -> int | None:
    """Most tokens of a text, which versions from 6 on state in the tokenizer alone; null if it is
    not stated."""
    config = _read(folder / LENGTH)
    if "transformer_task" in config:
        length = _read(folder / "tokenizer_config.json").get("model_max_length")
        return length if isinstance(length, int) and length < UNLIMITED else None
    length = config.get("max_seq_length")
    if length is not None and (type(length) is not int or length < 1):
        raise ValueError(
            f"{folder / LENGTH}: max_seq_length must be a number of tokens, but is {length!r}"
        )
    return length


def _modes(folder: Path, modules: Sequence[dict[str, str]]) -> list[str]:
    """The modes of pooling that its module switches on, in the order of their concatenation."""
    paths = [module["path"] for module in modules if _kind(module) == "Pooling"]
    pooling = _read(folder / paths[-1] / "config.json") if paths else {}
    new = pooling.get("pooling_mode", [])
    new = [new] if isinstance(new, str) else new
    if not isinstance(new, list) or not all(isinstance(mode, str) for mode in new):
        raise ValueError(
            f"{folder / paths[-1] / 'config.json'}: pooling_mode must be a name or a list of "
            f"names, but is {new!r}"
        )
    named = [NEW_MODES.get(mode, mode) for mode in new]
    used = [name for name, on in pooling.items() if on is True and name.startswith("pooling")]
    order = [*POOLINGS, *used]  # unknown ones last
    return named or sorted(used, key=order.index)


def _dense_paths(modules: Sequence[dict[str, str]]) -> list[str]:
    return [module["path"] for module in modules if _kind(module) == "Dense"]


def _dense_problem(module: Path) -> str:
    """What of a Dense module is not supported; empty if all is."""
    config = _read(module / "config.json")
    activation, read = _activation(config), config.get("module_input_name", SENTENCE)
    if activation not in ACTIVATIONS:
        return f"its module {module.name} has the activation function {activation}"
    if read != SENTENCE:
        return f"its module {module.name} reads {read}"
    return "" if weights(module) else f"its module {module.name} has no weights"


def _dense(folder: Path, path: str) -> Dense:
    """The layer of a Dense module.

    Raises:
        ValueError: its configuration is damaged.
    """
    file = folder / path / "config.json"
    config = _read(file)
    fields = {name: config[name] for name in Dense.model_fields if name in config}
    try:
        return Dense.read({**fields, "activation": ACTIVATIONS[_activation(config)]})
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {one_line(error)}") from error


def _activation(config: dict[str, Any]) -> str:
    """Name of the class of the activation, without its module."""
    return str(config.get("activation_function", "Tanh")).rpartition(".")[2]


def _module_files(folder: Path) -> Iterator[Path]:
    yield from (folder / one["path"] / "config.json" for one in _modules(folder) if one["path"])


def _modules(folder: Path) -> list[dict[str, str]]:
    modules: Any = _json(folder / MODULES)
    if not isinstance(modules, list) or not all(map(_is_module, modules)):
        raise ValueError(f"{folder / MODULES} must be a list of modules with type and path")
    for one in modules:
        path = PurePosixPath(one["path"])
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(
                f"{folder / MODULES}: the path of a module must lie below its folder, but is {path}"
            )
    return modules


def _is_module(one: Any) -> bool:
    """Whether an entry of MODULES is an object whose type and path are text."""
    return isinstance(one, dict) and all(isinstance(one.get(key), str) for key in ("type", "path"))


def _kind(module: dict[str, str]) -> str:
    return module["type"].rpartition(".")[2]


def _read(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file.

    Raises:
        ValueError: it is not a JSON object.
    """
    content: Any = _json(file) if file.is_file() else {}
    if not isinstance(content, dict):
        raise ValueError(f"{file} must be a JSON object")
    return content


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {error}") from error
