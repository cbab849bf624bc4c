"""Adapters of Houlsby et al. 2019.

Shapes: B sequences, T tokens, H hidden size, M width of the bottleneck.
"""

from typing import Any, cast

from torch import Tensor, nn
from torch.nn import functional as F

from harness.finetuning.adaptation import Adapters
from harness.finetuning.methods.parts import layer_norms, modules_called, token_head
from harness.finetuning.module_discovery import names_of
from harness.finetuning.task_model import TaskModel

STANDARD_DEVIATION = 1e-2
"""Of the truncated normal initial weights (Houlsby et al. 2019, section 3.6)."""


class Bottleneck(nn.Module):
    """Down-projection, GELU, up-projection and residual (google-research/adapter-bert,
    `feedforward_adapter`)."""

    def __init__(self, hidden_size: int, width: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(hidden_size, width), nn.Linear(width, hidden_size)
        for linear in (self.down, self.up):
            bound = 2 * STANDARD_DEVIATION
            nn.init.trunc_normal_(linear.weight, std=STANDARD_DEVIATION, a=-bound, b=bound)
            nn.init.zeros_(linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        """[B, T, H] to [B, T, H]."""
        added: Tensor = self.up(F.gelu(self.down(states), approximate="tanh"))
        return states + added


def adapters(model: TaskModel, adaptation: Adapters) -> None:
    """Adds a bottleneck after the last projection of each sublayer, before the residual sum, and
    trains the layer norms (section 2.1). It precedes dropout; in the paper it follows. Layers with
    shared weights share their adapters."""
    network = model.backbone.network
    head = {id(parameter) for parameter in token_head(model.backbone)}
    norms = [p for p in layer_norms(network) if id(p) not in head]
    network.requires_grad_(False)
    for parameter in norms:
        parameter.requires_grad_(True)
    names = names_of(network)
    for _, projection in modules_called(network, names.outputs):
        shape = cast(Tensor, projection.weight).shape
        width = shape[1] if names.transposed else shape[0]  # in a two-way network, half of H
        bottleneck = Bottleneck(width, adaptation.bottleneck)
        projection.add_module("adapter", bottleneck.to(next(projection.parameters()).device))
        projection.register_forward_hook(_apply_adapter)


def _apply_adapter(projection: nn.Module, inputs: Any, states: Tensor) -> Tensor:
    adapter = cast(Bottleneck, projection.adapter)
    return adapter.forward(states)
