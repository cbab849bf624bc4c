"""Parameter groups, AdamW, and schedules as pure functions of the step."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field

from harness.core.config import ConfigModel

if TYPE_CHECKING:
    import torch
    from torch import nn

SATURATED_STEP = 1e9
"""A step count at which AdamW's bias corrections 1 - beta^step are 1 to the last bit."""
NO_FACTORS: Mapping[int, float] = MappingProxyType({})


class Optimizer(ConfigModel):
    """AdamW (Loshchilov and Hutter 2019), with the details that recipes differ in."""

    learning_rate: float = Field(default=1e-4, gt=0)
    """Peak, reached at the end of the warmup."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    eps: float = Field(default=1e-6, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    """Not applied to biases and LayerNorm."""
    max_grad_norm: float = Field(default=1.0, ge=0)
    """Clip the global norm of the gradient to this; 0 never clips."""
    bias_correction: bool = True
    """False for BERT's own Adam (google-research/bert optimization.py)."""
    embedding_learning_rate_factor: float = Field(default=1.0, gt=0)
    """Multiplies the learning rate of the input embeddings."""


class Schedule(ConfigModel):
    """Learning-rate schedule: linear warmup, then decay to zero at the end of the budget; under
    `inverse_sqrt` neither: the peak as long as the warmup takes, then 1/sqrt(step)."""

    warmup_steps: int | None = Field(default=None, ge=0)
    """Updates of warmup; null takes `warmup_fraction` instead."""
    warmup_fraction: float = Field(default=0.01, ge=0, le=1)
    """Share of the updates spent in warmup."""
    decay: Literal["linear", "cosine", "constant", "inverse_sqrt"] = "linear"


def warmup_updates(schedule: Schedule, num_steps: int) -> int:
    """Updates of warmup.

    Raises:
        ValueError: the run would end before its peak learning rate.
    """
    if schedule.warmup_steps is None:
        return int(schedule.warmup_fraction * num_steps)
    if schedule.warmup_steps > num_steps:
        raise ValueError(
            f"schedule.warmup_steps must be at most the number of updates, here {num_steps}, but "
            f"is {schedule.warmup_steps}; lower it, or set warmup_fraction instead"
        )
    return schedule.warmup_steps


def learning_rate_factor(schedule: Schedule, step: int, num_steps: int) -> float:
    """Share of the peak learning rate at update `step`, counted from 0, of `num_steps`.

    Linear warmup from 0, then down to 0 after the last update: the schedules of transformers'
    `get_linear_schedule_with_warmup` and its cosine and constant kin. `inverse_sqrt` is T5's
    1/sqrt(max(n, k)) over its peak 1/sqrt(k), k updates of warmup (Raffel et al. 2020, 3.1.2).
    """
    warmup = warmup_updates(schedule, num_steps)
    if schedule.decay == "inverse_sqrt":
        return math.sqrt(max(1, warmup) / max(1, warmup, step))
    if step < warmup:
        return step / warmup
    decaying = max(1, num_steps - warmup)
    if schedule.decay == "linear":
        return max(0.0, (num_steps - step) / decaying)
    if schedule.decay == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (step - warmup) / decaying)))
    return 1.0


def parameter_groups(
    model: "nn.Module", settings: Optimizer, factors: Mapping[int, float] = NO_FACTORS
) -> list[dict[str, Any]]:
    """The trained parameters by weight decay and learning rate, without empty groups.

    Only matrices decay; token embeddings may have a learning rate of their own, and so may all
    that `factors`, id of a parameter to what multiplies it, names.
    """
    embeddings = {
        id(cast(Any, module).get_input_embeddings().weight)
        for module in model.modules()
        if hasattr(module, "get_input_embeddings")
    }
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            factor = settings.embedding_learning_rate_factor if id(parameter) in embeddings else 1.0
            rate = settings.learning_rate * factor * factors.get(id(parameter), 1.0)
            groups.setdefault((decay, rate), []).append(parameter)
    return [
        {"params": parameters, "weight_decay": decay, "lr": rate}
        for (decay, rate), parameters in groups.items()
    ]


def make_adamw(
    model: "nn.Module", settings: Optimizer, factors: Mapping[int, float] = NO_FACTORS
) -> "torch.optim.AdamW":
    """Fused AdamW over `model`, which must be on its device already."""
    import torch

    optimizer = torch.optim.AdamW(
        parameter_groups(model, settings, factors),
        betas=(settings.beta1, settings.beta2),
        eps=settings.eps,
        fused=True,
    )
    if settings.bias_correction:
        return optimizer
    # AdamW that starts at a late step is BERT's Adam: the same update without bias correction.
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.tensor(SATURATED_STEP, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
    return optimizer


def configure(
    model: "nn.Module",
    settings: Optimizer,
    schedule: Schedule,
    num_steps: int,
    factors: Mapping[int, float] = NO_FACTORS,
) -> dict[str, Any]:
    """What Lightning's `configure_optimizers` returns: AdamW, and its schedule by the update."""
    from torch.optim.lr_scheduler import LambdaLR

    optimizer = make_adamw(model, settings, factors)
    scheduler = LambdaLR(optimizer, lambda step: learning_rate_factor(schedule, step, num_steps))
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
