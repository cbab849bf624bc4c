"""Costs of an adaptation: trained parameters, stored bytes and memory, on any device."""

import copy
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from harness.finetuning.inputs import Batch
from harness.finetuning.methods.layerwise import begin_epoch
from harness.finetuning.sift import Divergences, divergence_at, perturbations
from harness.finetuning.task_model import TaskModel

MOMENTS = {"adamw": 2, "sgd": 0}
"""Optimiser of fine-tuning to the moments that it keeps per trained parameter."""
FIXED = (2, 3)
"""Axes of buffers that are weights: random matrices of VeRA, permutations of BOFT."""


@dataclass(frozen=True)
class Costs:
    """Costs of one fine-tuning run."""

    trained_parameters: int
    stored_bytes: int
    """Bytes of the saved weights (`harness.finetuning.adapted_weights`)."""
    peak_memory_bytes: int
    """Weights, gradients and moments of trained parameters, and activations kept for the backward
    pass of the longest batch; without dropout in the network and temporary buffers of libraries."""

    @property
    def metrics(self) -> dict[str, float | None]:
        """Name to value."""
        return {name: float(value) for name, value in asdict(self).items()}


def measure(
    model: TaskModel,
    loss: Any,
    batch: Batch,
    last_epoch: int,
    divergences: Divergences | None = None,
    optimizer: str = "adamw",
) -> Costs:
    """Costs from one forward pass of a copy of the model, without a change to torch's generators.

    Args:
        loss: called with (outputs, batch).
        batch: of the longest examples [B, T], on the model's device.
        last_epoch: from 0; parameters unfrozen later are not counted.
        divergences: of SiFT, whose perturbed pass is kept beside the clean one; null: none.
        optimizer: key of MOMENTS.
    """
    model = copy.deepcopy(model)
    begin_epoch(model, last_epoch)
    with torch.random.fork_rng():
        kept = _kept_for_backward(model, loss, batch, divergences)
    own = [p for p in model.parameters() if p.requires_grad]
    weights = sum(tensor.nbytes for tensor in [*model.parameters(), *model.buffers()])
    trained = sum(tensor.nbytes for tensor in own)
    return Costs(
        trained_parameters=sum(p.numel() for p in own),
        stored_bytes=sum(tensor.nbytes for tensor in stored(model).values()),
        peak_memory_bytes=weights + (1 + MOMENTS[optimizer]) * trained + kept,
    )


def stored(model: TaskModel) -> dict[str, Tensor]:
    """Name to tensor of all trained parameters, and of buffers outside the backbone, in the shapes
    of `model` ([out, in] of a linear layer)."""
    unfrozen = model.unfreezing  # trained from some epoch on
    parameters = {
        name: parameter.detach()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad or name in unfrozen
    }
    kept = {name for name in model.state_dict() if not name.startswith("backbone.")}
    buffers = {name: value for name, value in model.named_buffers() if name in kept}
    return parameters | buffers


def _kept_for_backward(
    model: TaskModel, loss: Any, batch: Batch, divergences: Divergences | None = None
) -> int:
    """Bytes of the tensors saved for the backward pass, without weights, each storage once."""
    fixed = [one for one in model.buffers() if one.is_floating_point() and one.ndim in FIXED]
    weights = {one.untyped_storage().data_ptr() for one in [*model.parameters(), *fixed]}
    kept: dict[int, tuple[int, Any]] = {}

    def keep(tensor: Tensor) -> Tensor:
        # With its graph, an output that the graph itself saves would never be freed.
        tensor = tensor.detach()
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            # The tensor is kept against reuse of its address.
            kept[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = model(batch)
        total = loss(outputs, batch)
    if divergences:
        deltas = perturbations(model, divergences, outputs, batch)  # freed before the next pass
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            total = total + divergence_at(model, divergences, deltas, outputs, batch)
    del outputs, total
    return sum(size for size, _ in kept.values())
