"""Groups of parameters, and the optimiser and schedule that Lightning takes."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from harness.pretraining.optimizer import Optimizer
from harness.pretraining.optimizer_kinds import OPTIMIZERS
from harness.pretraining.schedule import Schedule, learning_rate_factor

if TYPE_CHECKING:
    import torch
    from torch import nn

BARE = re.compile("emb|bias")
"""In names of parameters that are no matrices of layers."""
SCALES = re.compile(r"\.(ia3_l|boft_s)\.")
"""In names of the factors of (IA)3 and BOFT: columns that start at 1, which decay would pull to
0."""
NO_FACTORS: Mapping[int, float] = MappingProxyType({})


def parameter_groups(
    model: "nn.Module", settings: Optimizer, factors: Mapping[int, float] = NO_FACTORS
) -> list[dict[str, Any]]:
    """The trained parameters by weight decay and learning rate, and, for other optimisers than
    AdamW, by role; without empty groups.

    Only matrices decay, without columns of factors; token embeddings may have a learning rate of
    their own, and so may all that `factors`, id of a parameter to what multiplies it, names.
    """
    inputs = _token_weights(model, "get_input_embeddings")
    tables = inputs | _token_weights(model, "get_output_embeddings") | _tables(model)
    # Others do with tables what they do with matrices; new groups would break unfinished runs.
    if settings.kind == "muon":
        tables |= _own_outputs(model) | _bare(model)
    groups: dict[tuple[float, float, str], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_vector = parameter.ndim < 2 or bool(SCALES.search(name))
            decay = 0.0 if is_vector else settings.weight_decay
            factor = settings.embedding_learning_rate_factor if id(parameter) in inputs else 1.0
            rate = settings.learning_rate * factor * factors.get(id(parameter), 1.0)
            role = "vector" if is_vector else "matrix"
            role = "embedding" if id(parameter) in tables else role
            role = "" if settings.kind == "adamw" else role  # unfinished runs have fewer groups
            groups.setdefault((decay, rate, role), []).append(parameter)
    return [
        {"params": parameters, "weight_decay": decay, "lr": rate} | ({"role": role} if role else {})
        for (decay, rate, role), parameters in groups.items()
    ]


def _token_weights(model: "nn.Module", method: str) -> set[int]:
    """Ids of the weights of the modules that a method of transformers' models returns."""
    found = [getattr(module, method)() for module in model.modules() if hasattr(module, method)]
    return {id(cast(Any, module).weight) for module in found if hasattr(module, "weight")}


def _own_outputs(model: "nn.Module") -> set[int]:
    """Ids of the output matrices of tokens of networks that transformers does not have, which are
    not tied: of recurrent ones and of static vectors."""
    from harness.models.recurrent import Lstm
    from harness.models.static_embeddings import StaticVectors

    own = [module for module in model.modules() if isinstance(module, (Lstm, StaticVectors))]
    return {id(network.output.weight) for network in own if network.output is not None}


def _bare(model: "nn.Module") -> set[int]:
    """Ids of embeddings and biases that are parameters of several axes, as XLNet's."""
    named = ((name.rpartition(".")[2], weight) for name, weight in model.named_parameters())
    return {id(weight) for name, weight in named if weight.ndim > 1 and BARE.search(name)}


def _tables(model: "nn.Module") -> set[int]:
    from torch import nn

    kinds = (nn.Embedding, nn.EmbeddingBag)
    return {id(module.weight) for module in model.modules() if isinstance(module, kinds)}


def make_optimizer(
    model: "nn.Module", settings: Optimizer, factors: Mapping[int, float] = NO_FACTORS
) -> "torch.optim.Optimizer":
    """The optimiser of `model`, which must be on its device already."""
    return OPTIMIZERS[settings.kind](parameter_groups(model, settings, factors), settings)


def configure(
    model: "nn.Module",
    settings: Optimizer,
    schedule: Schedule,
    num_steps: int,
    factors: Mapping[int, float] = NO_FACTORS,
    checkpoints: Sequence[int] = (),
) -> dict[str, Any]:
    """What Lightning's `configure_optimizers` returns: the optimiser, and its schedule by the
    update. For `checkpoints`, see `learning_rate_factor`."""
    from torch.optim.lr_scheduler import LambdaLR

    def factor(step: int) -> float:
        return learning_rate_factor(schedule, step, num_steps, checkpoints)

    optimizer = make_optimizer(model, settings, factors)
    return {
        "optimizer": optimizer,
        "lr_scheduler": {"scheduler": LambdaLR(optimizer, factor), "interval": "step"},
    }


def current_rate(groups: Sequence[Mapping[str, Any]], settings: Optimizer) -> float:
    """The learning rate now of the group whose peak is `settings.learning_rate`, if there is one:
    the first may be that of token embeddings, with a rate of their own.

    Args:
        groups: `param_groups` of an optimiser; a schedule adds `initial_lr`.
    """
    own = (group["lr"] for group in groups if group.get("initial_lr") == settings.learning_rate)
    return float(next(own, groups[0]["lr"]))
