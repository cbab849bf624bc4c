"""Groups of parameters: token head, layer norms, biases, modules by name."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone


def token_head(backbone: Backbone) -> list[nn.Parameter]:
    """Parameters of the token head, without tied embeddings."""
    named = backbone.network.named_parameters()  # tied ones appear once, under their first name
    return [p for name, p in named if in_token_head(backbone.network, name)]


def in_token_head(network: Any, name: str) -> bool:
    """Whether a parameter or module of a network is part of its token head."""
    prefix = network.base_model_prefix
    if hasattr(network, prefix):
        return not name.startswith(f"{prefix}.")
    return name.split(".")[0] in ("lm_head", "output")


def layer_norms(module: nn.Module) -> list[nn.Parameter]:
    """Weights and biases of layer norms of any class (LlamaRMSNorm, T5LayerNorm, ...)."""
    return [
        parameter
        for part in module.modules()
        if "norm" in type(part).__name__.lower()
        for parameter in part.parameters(recurse=False)
    ]


def biases(module: nn.Module) -> list[nn.Parameter]:
    """Parameters named bias; not the relative attention bias of T5, which is an embedding."""
    return [p for name, p in module.named_parameters() if "bias" in name.split(".")[-1]]


def modules_called(network: nn.Module, pattern: str) -> Iterator[tuple[str, nn.Module]]:
    """(name, module) of each module whose full name matches `pattern`."""
    for name, module in list(network.named_modules()):
        if re.fullmatch(pattern, name):
            yield name, module


def freeze_unused(model: TaskModel) -> None:
    """Freezes the token head of a model that predicts no tokens: no gradient would reach it."""
    if not model.reads_token_head:
        for parameter in token_head(model.backbone):
            parameter.requires_grad_(False)


def train_used(first: TaskModel, others: Sequence[TaskModel]) -> None:
    """Trains the token head that `freeze_unused` has frozen for `first`, if one of the `others`,
    which have its network, predicts tokens."""
    if any(model.names_tokens for model in others):
        for parameter in token_head(first.backbone):
            parameter.requires_grad_(True)
