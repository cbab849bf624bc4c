"""Fine-tuning that stays near the weights it starts from: mixout, and weight decay toward them.

Shapes: a matrix of a linear layer has I inputs and O outputs.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from transformers.pytorch_utils import Conv1D

from harness.finetuning.methods.parts import token_head
from harness.models.backbone import Backbone


class Mixout:
    """In each update, replaces with a probability p all weights of an input of a linear layer by
    those before the first update u, and scales so that the mean over the draws is the current
    weight w (Lee et al. 2020; bloodwass/mixout, mixout.py):

        u + m (w - u) / (1 - p), with one m of 0 (probability p) or 1 for each input.

    The matrices are replaced for the forward and backward pass of an update, and their gradient is
    scaled by m / (1 - p), where the released code leaves out 1 / (1 - p).
    """

    def __init__(self, backbone: Backbone, probability: float) -> None:
        """Copies the matrices of the linear layers of `backbone`, without its token head.

        Raises:
            ValueError: it has no linear layers.
        """
        self.probability = probability
        tokens = {id(weight) for weight in _token_weights(backbone)}
        shapes: dict[Tensor, tuple[int, int]] = {}
        for module in backbone.network.modules():
            if isinstance(module, nn.Linear) and id(module.weight) not in tokens:
                shapes[module.weight] = (1, module.in_features)
            elif isinstance(module, Conv1D):  # its matrix is [I, O]
                shapes[module.weight] = (module.weight.shape[0], 1)
        if not shapes:
            raise ValueError(
                "finetune.mixout needs a network with linear layers, but those of the family "
                f"{backbone.family} have none; leave it out"
            )
        self.starts = {weight: weight.detach().clone() for weight in shapes}
        self.shapes = shapes
        self._mixed: dict[Tensor, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def mix(self) -> None:
        """Replaces the matrices until `restore`; draws from torch's generator."""
        for weight, shape in self.shapes.items():
            start = self.starts[weight] = self.starts[weight].to(weight.device)
            mask = torch.empty(shape, device=weight.device).bernoulli_(1 - self.probability)
            mask /= 1 - self.probability
            self._mixed[weight] = weight.clone(), mask
            weight.copy_(start + mask * (weight - start))

    @torch.no_grad()
    def restore(self) -> None:
        """Gives the matrices back their weights, with the gradient with respect to them."""
        for weight, (own, mask) in self._mixed.items():
            weight.copy_(own)
            if weight.grad is not None:
                weight.grad *= mask
        self._mixed.clear()


class DecayToStart:
    """Weight decay of a pretrained network toward its weights before the first update, L2-SP (Li et
    al. 2018), decoupled from the gradient as in AdamW."""

    def __init__(self, backbone: Backbone) -> None:
        self.starts: dict[Tensor, Tensor] = {
            weight: weight.detach().clone() for weight in backbone.parameters()
        }

    @torch.no_grad()
    def after_step(self, optimizer: Optimizer, *_: Any) -> None:
        """Hook after an update: the optimiser has subtracted learning rate x decay x weight, of
        which the part of the start is given back."""
        for group in optimizer.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and weight in self.starts:
                    start = self.starts[weight] = self.starts[weight].to(weight.device)
                    weight.add_(start, alpha=group["lr"] * group["weight_decay"])


def _token_weights(backbone: Backbone) -> list[nn.Parameter]:
    """The weights that map tokens to vectors and states to tokens."""
    network: Any = backbone.network
    find = getattr(network, "get_input_embeddings", None)
    table = getattr(find() if find else None, "weight", None)
    return [*token_head(backbone), *([] if table is None else [table])]
