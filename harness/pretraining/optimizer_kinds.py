"""The optimisers of the literature, by torch.optim and pytorch_optimizer."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.pretraining.optimizer import Optimizer
from harness.pretraining.schedule import Schedule, learning_rate_factor

if TYPE_CHECKING:
    import torch

SATURATED_STEP = 1e9
"""A step count at which AdamW's bias corrections 1 - beta^step are 1 to the last bit."""
MUON_MOMENTUM = 0.95
"""Jordan et al. 2024, kellerjordan.github.io/posts/muon."""
ADAGRAD_SUM = 1 / 400
"""Initial sum of squares where none is set: ours. It was meant to be that of allenai/bilm-tf, which
is 1/100 (recipe `elmo`), and remains because results of GloVe at small sizes depend on it."""
ADAFACTOR_EPS = (1e-15, 1e-3)
"""Smallest root of a mean square, and of a weight (Shazeer and Stern 2018, section 8)."""
CHECKED_STEPS = 1000

Groups = list[dict[str, Any]]
"""Groups of parameters, each with `params`, `lr`, `weight_decay` and `role`, one of

    matrix      weights of linear and convolutional layers
    embedding   tables of embeddings, and the output matrix of tokens
    vector      biases and norms
"""


def adamw(groups: Groups, settings: Optimizer) -> "torch.optim.AdamW":
    """Fused AdamW (Loshchilov and Hutter 2019). The parameters must be on their device already."""
    import torch

    optimizer = torch.optim.AdamW(
        groups, betas=(settings.beta1, settings.beta2), eps=settings.eps, fused=True
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


def lamb(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """LAMB (You et al. 2020) as ALBERT trains with it (google-research/albert, lamb_optimizer.py):
    without bias correction, clipped norms, and trust ratios of biases and norms."""
    from pytorch_optimizer import Lamb

    for group in groups:
        group["adam"] = group["role"] == "vector"
    optimizer = Lamb(
        groups,
        betas=(settings.beta1, settings.beta2),
        eps=settings.eps,
        adam_debias=True,  # no bias correction
        weight_decouple=False,  # the trust ratio is that of the update with the decay
    )
    optimizer.clamp = math.inf
    return optimizer


def adafactor(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """Adafactor (Shazeer and Stern 2018): updates relative to the size of the weights, clipped by
    their own norm, without momentum. Its rate is at most 1/sqrt(step)."""
    from torch.optim import Adafactor

    return Adafactor(groups, eps=ADAFACTOR_EPS)


def share_capped(
    rate: float, schedule: Schedule, num_steps: int, checkpoints: Sequence[int] = ()
) -> float:
    """Share of the updates in which Adafactor's rate is 1/sqrt(step) because the scheduled one is
    higher; by at most CHECKED_STEPS of them, evenly spaced.

    Args:
        rate: the peak of the schedule.
        checkpoints: as for `learning_rate_factor`.
    """
    steps = range(0, num_steps, max(1, num_steps // CHECKED_STEPS))
    scheduled = (
        rate * learning_rate_factor(schedule, step, num_steps, checkpoints) for step in steps
    )
    # With T5's schedule, both are equal but for rounding errors.
    capped = (own * math.sqrt(step + 1) > 1.001 for step, own in zip(steps, scheduled, strict=True))
    return sum(capped) / len(steps)


def stable_adamw(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """AdamW whose updates are clipped as Adafactor's are (Wortsman et al. 2023, algorithm 2)."""
    from pytorch_optimizer import StableAdamW

    return StableAdamW(groups, betas=(settings.beta1, settings.beta2), eps=settings.eps)


def muon(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """Muon (Jordan et al. 2024) for matrices, at the size of AdamW's updates (Liu et al. 2025,
    section 2.2), so that one learning rate serves both; AdamW for embeddings, biases and norms."""
    from pytorch_optimizer import Muon

    for group in groups:
        if group["role"] == "matrix":
            momentum = MUON_MOMENTUM if settings.momentum is None else settings.momentum
            group |= {"use_muon": True, "momentum": momentum, "use_adjusted_lr": True}
        else:
            betas = (settings.beta1, settings.beta2)
            group |= {"use_muon": False, "betas": betas, "eps": settings.eps}
    return Muon(groups)


def sgd(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """Stochastic gradient descent."""
    from torch.optim import SGD

    return SGD(groups, momentum=settings.momentum or 0.0)


def adagrad(groups: Groups, settings: Optimizer) -> "torch.optim.Optimizer":
    """Adagrad (Duchi et al. 2011)."""
    from torch.optim import Adagrad

    given = settings.initial_accumulator
    start = ADAGRAD_SUM if given is None else given
    return Adagrad(groups, initial_accumulator_value=start, eps=settings.eps)


OPTIMIZERS: dict[str, Callable[[Groups, Optimizer], "torch.optim.Optimizer"]] = {
    "adamw": adamw,
    "lamb": lamb,
    "adafactor": adafactor,
    "stable_adamw": stable_adamw,
    "muon": muon,
    "sgd": sgd,
    "adagrad": adagrad,
}
