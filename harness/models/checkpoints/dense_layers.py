"""The dense layers of a sentence-transformers model: from its folder, and in our own."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from harness.models.checkpoints.loading import UNREADABLE, reason
from harness.models.checkpoints.sentence_embeddings import (
    OWN_DENSE,
    Activation,
    Dense,
    SentenceEmbedding,
    dense_weights,
)

MAKERS: dict[Activation, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
}
"""Activation to its module."""
PREFIX = "linear."
"""Of the names of weights in the folder of a Dense module."""


def read_dense(folder: Path, embedding: SentenceEmbedding, hidden_size: int) -> nn.Sequential:
    """The dense layers of the sentence-transformers model in `folder`.

    Args:
        hidden_size: width of the states of its network.

    Raises:
        ValueError: their widths do not fit, or files are damaged.
    """
    widths = embedding.widths(hidden_size)
    for layer, width in zip(embedding.dense, widths, strict=False):
        if layer.in_features != width:
            raise ValueError(
                f"{folder}: in_features of a Dense module must be {width}, the width before it, "
                f"but is {layer.in_features}"
            )
    weights = {}
    for number, file in enumerate(dense_weights(folder)):
        for name, weight in _tensors(file).items():
            weights[f"{2 * number}.{name.removeprefix(PREFIX)}"] = weight.float()
    return _filled(embedding.dense, weights, folder)


def save_dense(layers: nn.Sequential, folder: Path) -> None:
    """Writes the weights of dense layers below `folder`."""
    file = folder / OWN_DENSE
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: weight.contiguous() for name, weight in layers.state_dict().items()}, file)


def load_dense(folder: Path, layers: Sequence[Dense]) -> nn.Sequential:
    """The dense layers that `save_dense` wrote below `folder`.

    Raises:
        ValueError: the file is damaged.
    """
    return _filled(layers, _tensors(folder / OWN_DENSE), folder)


def _filled(layers: Sequence[Dense], weights: dict[str, Tensor], folder: Path) -> nn.Sequential:
    """Layers with the weights of a folder; each is a linear one and its activation."""
    made = nn.Sequential()
    for number, one in enumerate(layers):
        _check_shape(weights.get(f"{2 * number}.weight"), one, folder)
        sizes = {"in_features": one.in_features, "out_features": one.out_features}
        made.append(nn.utils.skip_init(nn.Linear, **sizes, bias=one.bias))
        made.append(MAKERS[one.activation]())
    try:
        made.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"the Dense modules of {folder} are damaged: {reason(error)}") from error
    if not all(weight.isfinite().all() for weight in weights.values()):
        raise ValueError(f"the weights of the Dense modules of {folder} must be finite")
    return made


def _check_shape(weight: Tensor | None, layer: Dense, folder: Path) -> None:
    """Raises ValueError for a layer of another size than its weights, before memory is taken."""
    found = None if weight is None else [*weight.shape]
    described = [layer.out_features, layer.in_features]
    if found != described:
        raise ValueError(
            f"the Dense modules of {folder} are damaged: a weight must have the shape {described}, "
            f"but has {found or 'no values'}"
        )


def _tensors(file: Path) -> dict[str, Tensor]:
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        weights = dict(torch.load(file, map_location="cpu", weights_only=True))
    except UNREADABLE as error:
        raise ValueError(f"{file} cannot be loaded: {reason(error)}") from error
    for name, weight in weights.items():
        if not (isinstance(name, str) and isinstance(weight, Tensor)):
            raise ValueError(
                f"{file} must hold tensors by their names, but {name!r} is a "
                f"{type(weight).__name__}: save the model again, as safetensors"
            )
    return weights
