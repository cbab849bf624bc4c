"""Learning-rate schedules as pure functions of the step."""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel

DECAY_FRACTION = 0.1
"""Share of a budget over which WSD decays (Hu et al. 2024, section 4.3)."""


class Schedule(ConfigModel):
    """Learning-rate schedule: linear warmup, then a decay by the end of the budget; under
    `inverse_sqrt` no warmup: the peak as long as the warmup takes, then 1/sqrt(step)."""

    warmup_steps: int | None = Field(default=None, ge=0)
    """Updates of warmup; null takes `warmup_fraction` instead."""
    warmup_fraction: float = Field(default=0.01, ge=0, le=1)
    """Share of the updates spent in warmup."""
    decay: Literal["linear", "cosine", "constant", "inverse_sqrt", "wsd", "wsd_s"] = "linear"
    """`wsd` (warmup, stable, decay: Hu et al. 2024) stays at the peak and decays last; `wsd_s` (Wen
    et al. 2024) decays before each of `pretrain.checkpoint_fractions` and returns to the peak, so
    that each checkpoint is one of a decayed run of its budget."""
    decay_fraction: float | None = Field(default=None, gt=0, le=1)
    """Share of the updates to a checkpoint, or to the end, over which `wsd` and `wsd_s` decay;
    null: 0.1."""

    @model_validator(mode="after")
    def _decays_last(self) -> "Schedule":
        if self.decay_fraction is not None and self.decay not in ("wsd", "wsd_s"):
            raise ValueError(
                f"decay_fraction must be null unless decay is wsd or wsd_s, but is "
                f"{self.decay_fraction:g} with {self.decay}; remove it or set decay: wsd"
            )
        return self

    @model_validator(mode="after")
    def _reaches_its_peak(self) -> "Schedule":
        decay = self.decay_fraction or DECAY_FRACTION
        both = self.warmup_fraction + decay
        if self.decay in ("wsd", "wsd_s") and self.warmup_steps is None and both > 1 + 1e-9:
            raise ValueError(
                f"warmup_fraction and decay_fraction must add up to at most 1 with decay: "
                f"{self.decay}, but are {self.warmup_fraction:g} and {decay:g}; lower one of them"
            )
        return self


def warmup_updates(schedule: Schedule, num_steps: int) -> int:
    """Updates of warmup.

    Raises:
        ValueError: the run would end before its peak learning rate.
    """
    if schedule.warmup_steps is None:
        return int(schedule.warmup_fraction * num_steps)
    if schedule.warmup_steps > num_steps and schedule.decay != "inverse_sqrt":
        raise ValueError(
            f"schedule.warmup_steps must be at most the number of updates, here {num_steps}, but "
            f"is {schedule.warmup_steps}; lower it, or set warmup_fraction instead"
        )
    return schedule.warmup_steps


def cut_short(schedule: Schedule, num_steps: int) -> Schedule:
    """The schedule of the first `num_steps` updates of a run, which may end within its warmup."""
    if schedule.warmup_steps is None:
        return schedule
    return schedule.model_copy(update={"warmup_steps": min(schedule.warmup_steps, num_steps)})


def checkpoint_steps(fractions: Sequence[float], num_steps: int) -> list[int]:
    """The numbers of updates after which weights are kept, one for each fraction."""
    return [max(1, round(fraction * num_steps)) for fraction in fractions]


def learning_rate_factor(
    schedule: Schedule, step: int, num_steps: int, checkpoints: Sequence[int] = ()
) -> float:
    """Share of the peak learning rate at update `step`, counted from 0, of `num_steps`.

    Linear warmup from 0, then down to 0 after the last update: the schedules of transformers'
    `get_linear_schedule_with_warmup` and those with cosine and constant. `inverse_sqrt` is T5's
    1/sqrt(max(n, k)) over its peak 1/sqrt(k), k updates of warmup (Raffel et al. 2020, 3.1.2).

    Args:
        checkpoints: numbers of updates before which `wsd_s` decays, besides `num_steps`.
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
    if schedule.decay == "constant":
        return 1.0
    ends = sorted({*checkpoints, num_steps}) if schedule.decay == "wsd_s" else [num_steps]
    return _decayed_last(schedule, step, [end for end in ends if end > warmup] or [num_steps])


def _decayed_last(schedule: Schedule, step: int, ends: Sequence[int]) -> float:
    """1, but 1 - sqrt of the share that is done of each decay (Hägele et al. 2024, section 3.1)."""
    end = next((end for end in ends if step < end), None)
    if end is None:
        return 0.0
    before = max((other for other in ends if other < end), default=0)
    updates = max(1, round((schedule.decay_fraction or DECAY_FRACTION) * end))
    begin = max(before, end - updates)
    return 1.0 - math.sqrt(max(0, step - begin) / (end - begin))
