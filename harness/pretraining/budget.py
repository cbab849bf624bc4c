"""The budget of a pretraining run, and its phases of sequence length."""

import math

from pydantic import Field, model_validator

from harness.core.config import ConfigModel, Count

MAX_BATCH_SIZE = 2**20
"""Most sequences per update."""


class Budget(ConfigModel):
    """The end of a pretraining run, in one of four units."""

    tokens: Count | None = Field(default=None, ge=0)
    """Tokens read, padding not counted; of the output `cooccurrence`, counts of pairs of tokens. 0
    trains nothing: the from-scratch control."""
    steps: Count | None = Field(default=None, ge=0)
    """Updates of the weights."""
    flops: float | None = Field(default=None, ge=0)
    """Training FLOPs by FLOPS_CONVENTION, generator, decoder and teacher included."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall-clock time of training on the machine at hand: its first updates are timed, and the
    number of updates is fixed from them. Two machines give two different runs."""

    @property
    def is_zero(self) -> bool:
        """Whether nothing is trained: the from-scratch control."""
        return not (self.tokens or self.steps or self.flops or self.seconds)

    @model_validator(mode="after")
    def _exactly_one(self) -> "Budget":
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a budget is one of tokens, steps, flops or seconds, but {len(given)} are given"
                + (f" ({', '.join(given)})" if given else "")
            )
        return self


class Phase(ConfigModel):
    """A stretch of the updates at one sequence length."""

    fraction: float = Field(gt=0, le=1)
    """Share of the updates."""
    sequence_length: int = Field(ge=8, le=10_000_000)
    """Tokens of a full input sequence, special tokens included."""


def num_steps(
    budget: Budget,
    *,
    tokens_per_step: float,
    flops_per_step: float,
    steps_per_second: float | None = None,
) -> int:
    """Updates within a budget: tokens are rounded up to whole updates, FLOPs and time down.

    Args:
        tokens_per_step, flops_per_step: means over the run.
        steps_per_second: measured rate, for a budget in seconds.

    Raises:
        ValueError: the budget is in seconds, and no rate is given.
    """
    if budget.is_zero:
        return 0
    if budget.steps is not None:
        return budget.steps
    if budget.tokens is not None:
        steps = budget.tokens / tokens_per_step
        return math.ceil(steps - 1e-9)  # the fractions of the phases sum to 1 up to rounding
    if budget.flops is not None:
        return math.floor(budget.flops / flops_per_step + 1e-9)
    if steps_per_second is None:
        raise ValueError(
            "a budget in seconds needs a measured rate: the run times its first updates"
        )
    return math.floor((budget.seconds or 0) * steps_per_second + 1e-9)
