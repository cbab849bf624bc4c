"""Full fine-tuning, fine-tuning of some parameters, and gradual unfreezing."""

from torch import nn

from harness.finetuning.adaptation import Full, Gradual, Selective
from harness.finetuning.methods.parts import biases, layer_norms, token_head
from harness.finetuning.task_model import TaskModel
from harness.models.layers import EMBEDDINGS, layer_of_parameters, layers


def full(model: TaskModel, adaptation: Full) -> None:
    """Trains all parameters."""


def selective(model: TaskModel, adaptation: Selective) -> None:
    """Trains the selected parts and the output layer.

    Raises:
        ValueError: the network has fewer layers than `top_layers`.
    """
    backbone = model.backbone
    roots: list[nn.Module] = [backbone.network]
    if adaptation.top_layers:
        found = [layer for _, layer in layers(backbone)]
        if len(found) < adaptation.top_layers:
            raise ValueError(
                f"adaptation.top_layers must be at most {len(found)}, the layers of the network, "
                f"but is {adaptation.top_layers}"
            )
        roots = found[-adaptation.top_layers :]
    choose = {
        "all": lambda root: list(root.parameters()),
        "layer_norms": layer_norms,
        "biases": biases,
    }[adaptation.parts]
    head = {id(parameter) for parameter in token_head(backbone)}
    wanted = [p for root in roots for p in choose(root) if id(p) not in head]
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


def begin_epoch(model: TaskModel, epoch: int) -> None:
    """Unfreezes the parameters that are trained from `epoch`, counted from 0."""
    for name, first in model.unfreezing.items():
        model.get_parameter(name).requires_grad_(first <= epoch)
