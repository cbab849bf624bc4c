"""The layers of a network, and the assignment of parameters to them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from harness.models.backbone import Backbone
from harness.models.layer_names import EMBEDDINGS, HEAD

HALVES = ("forward_half", "backward_half")
"""Stacks of a two-way network, whose layers are side by side."""


def layers(backbone: Backbone) -> list[tuple[str, nn.Module]]:
    """(name, module) of each layer from bottom to top, without embeddings and token head.

    Names count from 1: `layer 2`, or `encoder 2` and `decoder 2`, encoder first. A layer of a
    two-way or bidirectional recurrent network has both directions; ALBERT has one shared layer;
    static vectors have none.
    """
    stacks = _stacks(backbone.network)
    found: list[tuple[str, nn.Module]] = []
    for parent, lists in stacks.items():
        kind = parent.split(".")[-1] if len(stacks) > 1 else "layer"
        for number, parts in enumerate(zip(*lists, strict=True), 1):
            module = parts[0] if len(parts) == 1 else nn.ModuleList(parts)
            found.append((f"{kind} {number}", module))
    return found


@contextmanager
def compiled_layers(model: nn.Module) -> Iterator[None]:
    """Has each layer of the networks in a model compiled by itself (`torch.compile`).

    Equal layers share a graph, so that a deep network is compiled as fast as one layer. Embeddings,
    masks and losses are not compiled: there, numbers of predictions vary; the gradients of frequent
    tokens' embeddings would wait for each other, as they would be added atomically; and
    transformers would make a mask for causal attention, which only slower kernels take.
    """
    compiled = [layer for lists in _stacks(model).values() for one in lists for layer in one]
    for layer in compiled:
        layer.compile()
    try:
        with warnings.catch_warnings():  # torch itself reads `grad` of each input of a graph
            warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")
            yield
    finally:
        for layer in compiled:
            layer._compiled_call_impl = None  # torch has no public way back


def layer_of_parameters(model: nn.Module, backbone: Backbone) -> dict[str, str]:
    """Name of each parameter of `model` to its layer, EMBEDDINGS or HEAD.

    Parameters above the layers or outside the backbone belong to the head.

    Args:
        model: contains `backbone`, or is its network.
    """
    # From the top, so that shared parameters belong to the lowest layer.
    owners = {id(p): name for name, layer in layers(backbone)[::-1] for p in layer.parameters()}
    return {
        name: owners.get(id(parameter), EMBEDDINGS if _is_embedding(name) else HEAD)
        for name, parameter in model.named_parameters()
    }


def _stacks(network: nn.Module) -> dict[str, list[nn.ModuleList]]:
    """Path of each module to the lists of layers in it; nested lists are not included."""
    found: dict[str, nn.ModuleList] = {}
    for path, module in network.named_modules():
        if isinstance(module, nn.ModuleList) and not any(path.startswith(f"{p}.") for p in found):
            found[path] = module
    stacks: dict[str, list[nn.ModuleList]] = {}
    for path, module in found.items():
        parent = path.rpartition(".")[0]
        stacks.setdefault("" if parent in HALVES else parent, []).append(module)
    return stacks


def _is_embedding(name: str) -> bool:
    """`wte` and `wpe` are of GPT-2, `shared` of T5 and BART, `mask_emb` of XLNet."""
    own = ("wte", "wpe", "shared", "soft_prompt")
    return any("emb" in part or part in own for part in name.split("."))
