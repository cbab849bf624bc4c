"""Training by layers: selected parts, gradual unfreezing, learning rates, re-initialised layers."""

import torch
from torch import nn

from harness.finetuning.adaptation import Gradual, Selective, Staged
from harness.finetuning.methods.parts import biases, layer_norms, token_head
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.layer_names import EMBEDDINGS
from harness.models.layers import layer_of_parameters, layers


def selective(model: TaskModel, adaptation: Selective) -> None:
    """Trains the selected parts and the output layer, without what is fixed already: embeddings by
    `finetune.embeddings`, sinusoidal positions.

    Raises:
        ValueError: the network has fewer layers than `top_layers`, or none of the parts.
    """
    backbone = model.backbone
    roots: list[nn.Module] = [backbone.network]
    if adaptation.top_layers:
        roots = _top_layers(backbone, adaptation.top_layers, "adaptation.top_layers")
    choose = {
        "all": lambda root: list(root.parameters()),
        "layer_norms": layer_norms,
        "biases": biases,
    }[adaptation.parts]
    head = {id(parameter) for parameter in token_head(backbone)}
    chosen = [p for root in roots for p in choose(root) if id(p) not in head]
    wanted = [p for p in chosen if p.requires_grad]
    if not wanted:
        raise ValueError(f"the network has no {adaptation.parts.replace('_', ' ')} to train")
    backbone.requires_grad_(False)
    for parameter in wanted:
        parameter.requires_grad_(True)


def gradual(model: TaskModel, adaptation: Gradual) -> None:
    """Sets the first epoch of each parameter: 0 above the layers, 1 for the top layer, ..., the
    embeddings last. With the network's own token head, which may be tied to the embeddings, the top
    layer starts in epoch 0."""
    places = [EMBEDDINGS, *(name for name, _ in layers(model.backbone))]
    first = 1 if model.names_tokens else 0
    model.unfreezing = {
        name: max(0, len(places) - places.index(place) - first) if place in places else 0
        for name, place in layer_of_parameters(model, model.backbone).items()
        if model.get_parameter(name).requires_grad
    }


def staged(model: TaskModel, adaptation: Staged) -> None:
    """Sets the first epoch of each parameter: 0 in the top layers and above the network, 1 of the
    other layer norms, 2 of everything else.

    Raises:
        ValueError: the network has fewer layers than `top_layers`.
    """
    backbone = model.backbone
    tops = _top_layers(backbone, adaptation.top_layers, "adaptation.top_layers")
    first = {id(p): 2 for p in backbone.parameters()}
    first |= {id(p): 1 for p in layer_norms(backbone.network)}
    first |= {id(p): 0 for top in tops for p in top.parameters()}
    first |= {id(p): 0 for p in token_head(backbone)}
    model.unfreezing = {
        name: first.get(id(parameter), 0)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def begin_epoch(model: TaskModel, epoch: int) -> None:
    """Unfreezes the parameters that are trained from `epoch`, counted from 0."""
    for name, first in model.unfreezing.items():
        model.get_parameter(name).requires_grad_(first <= epoch)


def learning_rate_factors(model: TaskModel, decay: float) -> dict[int, float]:
    """id of each parameter to decay^(L + 2 - depth), with depth 0 for embeddings, i for the i-th of
    L layers, L + 1 for pretrained parameters above them, and L + 2 for the task's output layer
    (google-research/electra, optimization.py, `_get_layer_lrs`, which has no L + 1)."""
    places = [EMBEDDINGS, *(name for name, _ in layers(model.backbone))]
    above = len(places)
    own = {id(parameter) for parameter in model.backbone.parameters()}
    factors = {}
    for name, place in layer_of_parameters(model, model.backbone).items():
        parameter = model.get_parameter(name)
        depth = places.index(place) if place in places else above
        depth = depth if id(parameter) in own else above + 1
        factors[id(parameter)] = decay ** (above + 1 - depth)
    return factors


@torch.no_grad()
def reinitialise(model: TaskModel, top_layers: int) -> None:
    """Re-initialises the top layers with torch's generator (Zhang et al. 2021, section 5).

    Raises:
        ValueError: the network has fewer layers.
    """
    network = model.backbone.network
    top = _top_layers(model.backbone, top_layers, "finetune.reinit_layers")
    chosen = {id(p) for layer in top for p in layer.parameters()}
    new = dict(type(network)._from_config(network.config).named_parameters())
    for name, parameter in network.named_parameters():
        if id(parameter) in chosen:
            parameter.copy_(new[name])


def _top_layers(backbone: Backbone, number: int, field: str) -> list[nn.Module]:
    found = [layer for _, layer in layers(backbone)]
    if number > len(found):
        raise ValueError(
            f"{field} must be at most {len(found)}, the layers of the network, but is {number}"
        )
    return found[-number:]
