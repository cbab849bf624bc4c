"""Layer-wise learning rates, and re-initialised layers."""

import torch

from harness.finetuning.task_model import TaskModel
from harness.models.layers import EMBEDDINGS, layer_of_parameters, layers


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
    found = layers(model.backbone)
    if top_layers > len(found):
        raise ValueError(
            f"finetune.reinit_layers must be at most {len(found)}, the layers of the network, but "
            f"is {top_layers}"
        )
    chosen = {id(p) for _, layer in found[-top_layers:] for p in layer.parameters()}
    new = dict(type(network)._from_config(network.config).named_parameters())
    for name, parameter in network.named_parameters():
        if id(parameter) in chosen:
            parameter.copy_(new[name])
