"""Networks read from their files by transformers: every weight from the file, no file of another
network, and all weights finite."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from harness.models.checkpoints.files import CONFIG
from harness.models.checkpoints.weight_files import OLD_BUFFERS, tensor_shapes

ENCODER_DECODER = ("encoder", "decoder", "shared")
"""Parts of an encoder-decoder beside its `base_model_prefix`."""
UNREADABLE = (
    *(OSError, ValueError, RuntimeError, SafetensorError, pickle.UnpicklingError, EOFError),
    # of configurations with values that no network has, and of packages that they ask for
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, TypeError),
    *(MemoryError, StrictDataclassError),
)
"""What transformers raises for damaged files."""


@dataclass(frozen=True)
class Loaded:
    """A network, and how the names of its weights differ from those in its files."""

    network: PreTrainedModel
    missing: frozenset[str]
    """Weights that the files lack, and that are random."""
    unexpected: frozenset[str]
    """Weights that the network lacks."""


def read_network(auto: Any, folder: Path, **options: Any) -> Loaded:
    """The network in `folder`, without running code from it.

    Args:
        auto: a class of transformers with `from_pretrained`.
        options: of `from_pretrained`.

    Raises:
        ValueError: the files are damaged or do not fit together.
    """
    transformers.logging.set_verbosity_error()  # differences are in the result
    transformers.logging.disable_progress_bar()
    try:
        network, info = auto.from_pretrained(
            folder, local_files_only=True, output_loading_info=True, **options
        )
    except UNREADABLE as error:
        raise ValueError(f"{folder} cannot be loaded: {reason(error)}") from error
    unexpected = {name for name in info["unexpected_keys"] if not name.endswith(OLD_BUFFERS)}
    return Loaded(network, frozenset(info["missing_keys"]), frozenset(unexpected))


def reason(error: BaseException) -> str:
    """The first lines of an error's message in one; its type if there is none."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(error).__name__


def described(folder: Path, auto: Any = None) -> PreTrainedConfig:
    """The configuration in `folder` as transformers reads it.

    Args:
        auto: as for `read_network`; null: the class follows from the model type.

    Raises:
        ValueError: it has a field of the wrong type, or a model type that transformers lacks.
    """
    kind = getattr(auto, "config_class", None)  # transformers does not know those of ours
    options = {"local_files_only": True} | ({} if kind else {"trust_remote_code": False})
    try:
        config: PreTrainedConfig = (kind or AutoConfig).from_pretrained(folder, **options)
    except UNREADABLE as error:
        raise ValueError(f"{folder / CONFIG} cannot be read: {reason(error)}") from error
    return config


def check_shapes(auto: Any, folder: Path) -> None:
    """Compares the shapes of weights in safetensors files with those that the configuration
    describes, before memory is taken for the network.

    Args:
        auto: as for `read_network`.

    Raises:
        ValueError: a shape differs, or there is no such network.
    """
    make = getattr(auto, "_from_config", None) or auto.from_config
    config = described(folder, auto)
    try:
        with torch.device("meta"):
            network = make(config)
    except UNREADABLE as error:
        raise ValueError(f"{folder / CONFIG} describes no network: {reason(error)}") from error
    shapes = {name: list(weight.shape) for name, weight in network.state_dict().items()}
    for name, given in tensor_shapes(folder).items():
        own = shapes.get(name, shapes.get(f"{network.base_model_prefix}.{name}", given))
        if own != given:
            raise ValueError(
                f"{folder}: {name} has the shape {given}, but {CONFIG} describes {own}: they do "
                "not belong together"
            )


def of_the_body(name: str, network: PreTrainedModel, representation: str) -> bool:
    """Whether a weight is of the network rather than of a head (ModernBERT's is `decoder`) or of
    the pooler."""
    stacks = ENCODER_DECODER if representation == "encoder_decoder" else ()
    parts = tuple(f"{part}." for part in (network.base_model_prefix, *stacks))
    return name.startswith(parts) and ".pooler." not in name


def check_finite(network: PreTrainedModel, folder: Path) -> None:
    """Checks all weights.

    Raises:
        ValueError: a weight is infinite or NaN.
    """
    for name, weight in network.state_dict().items():
        if weight.is_floating_point() and not (finite := weight.isfinite()).all():
            number = int((~finite).sum())
            raise ValueError(
                f"{folder} must have finite weights, but {number:,} of the {weight.numel():,} "
                f"values of {name} are infinite or NaN"
            )
