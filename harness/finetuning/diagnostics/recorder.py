"""Records the diagnostics of a fine-tuning run.

Shapes: N rows of tokens, T tokens, H hidden size.
"""

import copy
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from harness.finetuning.auxiliary_losses import AuxiliaryLosses
from harness.finetuning.diagnostics import AUXILIARY_WEIGHTS, DIAGNOSTICS_COLUMNS
from harness.finetuning.diagnostics.cka import effective_rank, linear_cka
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Encoded
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.layer_names import EMBEDDINGS, HEAD
from harness.models.layers import layer_of_parameters, layers
from harness.models.pooling import pool

MAX_EXAMPLES = 256
"""Most examples whose states are compared."""
BATCH = 64
NORMS: Mapping[str, int | None] = {"gradient_norms": None, "first_gradient_norms": 10}
"""Diagnostic to the number of updates from the first whose gradient norms are averaged; null: of
all. With a warmup, the weights of the first ones are near those of the pretrained network."""
BACKBONE = "backbone."

Row = tuple[str, str, str, float, int | None]
"""record, layer, name, value, step"""


class Recorder(pl.Callback):
    """Records one fine-tuning run.

    Weight changes are those of the pretrained matrices and the output layer. Added parameters count
    if they can be merged into a matrix (LoRA, DoRA, AdaLoRA, VeRA, OFT, BOFT, IA3), and are
    ignored otherwise.
    """

    def __init__(self, records: Collection[str], head: TaskHead, sample: Encoded) -> None:
        self.records, self.head, self.sample = set(records), head, sample
        self.matrices: dict[str, Tensor] = {}
        self.states: dict[str, Tensor] = {}
        self.norms: dict[str, list[Tensor]] = defaultdict(list)
        self.losses: list[Tensor] = []
        self.auxiliary: AuxiliaryLosses | None = None

    def on_fit_start(self, trainer: pl.Trainer, module: Any) -> None:
        """Keeps the matrices and states before training, and the lists of training losses and
        weights."""
        self.losses, self.auxiliary = module.losses, module.auxiliary
        if self.records & {"weight_change", "effective_rank"}:
            self.matrices = {
                name: value.clone() for name, value in matrices(module.model.part(0)).items()
            }
        if "similarity" in self.records:
            self.states = pooled_states(module.model.part(0), self.head, self.sample)
            module.train()

    def on_before_optimizer_step(self, trainer: pl.Trainer, module: Any, optimizer: Any) -> None:
        """Keeps the gradient norms of an update, before clipping and after the hooks of the module,
        which scale gradients under mixout."""
        if self.records & set(NORMS):
            for layer, norm in gradient_norms(module.model.part(0)).items():
                self.norms[layer].append(norm)

    def frame(self, model: TaskModel) -> pd.DataFrame:
        """The requested diagnostics of the trained `model`: columns DIAGNOSTICS_COLUMNS."""
        rows = [
            *self._changes(model),
            *self._gradients(model),
            *self._similarities(model),
            *self._weights(),
        ]
        if "loss_curve" in self.records:
            losses = torch.stack(self.losses).tolist()
            rows += [("loss_curve", "", "train_loss", x, n) for n, x in enumerate(losses, 1)]
        frame = pd.DataFrame(rows, columns=DIAGNOSTICS_COLUMNS)
        return frame.astype({"value": float, "step": "Int64"})

    def _changes(self, model: TaskModel) -> Iterator[Row]:
        if not self.matrices:
            return
        after, layer_of = matrices(model), _layers_by_name(model)
        by_layer: dict[str, list[str]] = defaultdict(list)
        for name in self.matrices:
            by_layer[layer_of[name]].append(name)
        for layer, names in _in_order(model, by_layer):
            pairs = [(self.matrices[name], after[name].to(self.matrices[name])) for name in names]
            if "weight_change" in self.records:
                yield "weight_change", layer, "", relative_change(pairs), None
            ranks = [effective_rank(new - old) for old, new in pairs]
            ranks = [rank for rank in ranks if not np.isnan(rank)]
            if "effective_rank" in self.records and ranks:
                yield "effective_rank", layer, "", float(np.mean(ranks)), None

    def _gradients(self, model: TaskModel) -> Iterator[Row]:
        for record in (name for name in NORMS if name in self.records):
            for layer, norms in _in_order(model, self.norms):
                yield record, layer, "", float(torch.stack(norms[: NORMS[record]]).mean()), None

    def _similarities(self, model: TaskModel) -> Iterator[Row]:
        if self.states:
            after = pooled_states(model, self.head, self.sample)
            for layer, states in self.states.items():
                yield "similarity", layer, "", linear_cka(states, after[layer]), None

    def _weights(self) -> Iterator[Row]:
        if self.auxiliary is None or AUXILIARY_WEIGHTS not in self.records:
            return
        names = self.auxiliary.settings.names
        for step, weights in enumerate(torch.stack(self.auxiliary.history).tolist(), 1):
            for name, weight in zip(names, weights, strict=True):
                yield AUXILIARY_WEIGHTS, "", name, weight, step


def relative_change(pairs: list[tuple[Tensor, Tensor]]) -> float:
    """||after - before|| / ||before|| in Frobenius norm over all pairs (before, after) of matrices
    [out, in]; NaN if all were zero."""
    change = sum(float((new - old).double().square().sum()) for old, new in pairs)
    size = sum(float(old.double().square().sum()) for old, _ in pairs)
    return float(np.sqrt(change / size)) if size else float("nan")


@torch.no_grad()
def gradient_norms(model: TaskModel) -> dict[str, Tensor]:
    """Layer to the norm of its parameters' gradients, a scalar []."""
    squares: dict[str, list[Tensor]] = defaultdict(list)
    places = layer_of_parameters(model, model.backbone)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            squares[places[name]].append(parameter.grad.float().square().sum())
    return {layer: torch.stack(some).sum().sqrt() for layer, some in squares.items()}


@torch.no_grad()
def matrices(model: TaskModel) -> dict[str, Tensor]:
    """Plain name to each weight matrix [out, in], with mergeable updates merged.

    Larger arrays are flattened after their first axis; with a new output layer the network's own
    head is left out.
    """
    found = {name: value for name, value in _merged(model).named_parameters() if value.ndim > 1}
    places = _layers_by_name(model)
    return {
        plain: value.detach().flatten(1)
        for name, value in found.items()
        if (plain := plain_name(name)) in places
    }


def _merged(model: TaskModel) -> nn.Module:
    """The model, or a copy with merged updates."""
    if not any(hasattr(module, "base_layer") for module in model.modules()):
        return model
    merged = copy.deepcopy(model)
    adapted: list[Any] = [m for m in merged.modules() if hasattr(m, "base_layer")]
    for module in adapted:
        module.merge()
    return merged


ADDED = re.compile(r"\.(lora_|ranknum|vera_|b?oft_|ia3_|soft_prompt|prefixes_|adapter\.)")
"""Matches the names of parameters that adaptations add."""


def plain_name(name: str) -> str:
    """Name of a parameter in the network without added modules."""
    return name.replace("base_model.model.", "").replace(".base_layer.", ".")


def _layers_by_name(model: TaskModel) -> dict[str, str]:
    """Plain name to layer of every pretrained parameter and of the new output layer."""
    found = layer_of_parameters(model, model.backbone)
    own_head = any(not name.startswith(BACKBONE) for name in found)
    return {
        plain_name(name): layer
        for name, layer in found.items()
        if not ADDED.search(name) and not (own_head and layer == HEAD and name.startswith(BACKBONE))
    }


def _in_order(model: TaskModel, by_layer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Items in the order embeddings, layers from bottom to top, head."""
    for layer in (EMBEDDINGS, *(name for name, _ in layers(model.backbone)), HEAD):
        if layer in by_layer:
            yield layer, by_layer[layer]


@torch.no_grad()
def pooled_states(model: TaskModel, head: TaskHead, sample: Encoded) -> dict[str, Tensor]:
    """Layer to [N, H] output states, averaged over the tokens of each row; of an encoder-decoder
    those of the decoder. Leaves the model in evaluation mode."""
    outputs: list[tuple[tuple[Tensor, ...], Tensor]] = []

    def request(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, {**kwargs, "output_hidden_states": True}

    def take(module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        mask = kwargs.get("decoder_attention_mask")
        outputs.append((output.hidden_states, kwargs["attention_mask"] if mask is None else mask))

    model.eval()
    hooks = [
        model.backbone.register_forward_pre_hook(request, with_kwargs=True),
        model.backbone.register_forward_hook(take, with_kwargs=True),
    ]
    device = next(model.parameters()).device
    for start in range(0, sample.num_items, BATCH):
        items = np.arange(start, min(start + BATCH, sample.num_items))
        batch = {name: value.to(device) for name, value in head.collate(sample, items).items()}
        model.states(batch)
    for hook in hooks:
        hook.remove()
    pooled = [[_mean(states, mask) for states in of_layers] for of_layers, mask in outputs]
    names = _state_names(model.backbone, len(pooled[0]))
    return {
        name: torch.cat(some) for name, some in zip(names, zip(*pooled, strict=True), strict=True)
    }


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    """[N, H] mean of [N, T, H] over real tokens, without padding and prepended vectors."""
    return pool(states[:, -mask.shape[1] :], mask, "mean").float().cpu()


def _state_names(backbone: Backbone, count: int) -> list[str]:
    """Names of the hidden states from the bottom; layers with shared weights are numbered."""
    names = [name for name, _ in layers(backbone)]
    names = [name for name in names if name.startswith("decoder")] or names
    if count not in (len(names), len(names) + 1):
        names = [f"layer {number}" for number in range(1, count)]
    return [EMBEDDINGS, *names][-count:]
