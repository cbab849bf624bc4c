"""How much a run may spend, and what it spends: updates, tokens, parameters, FLOPs."""

import math
from collections.abc import Sequence
from typing import Protocol

from pydantic import Field, model_validator

from harness.models import Size
from harness.values import Value


class Budget(Value):
    """The end of a pretraining run, in one unit of four."""

    tokens: int | None = Field(default=None, ge=0)
    """Tokens read, padding not counted. 0 trains nothing: the from-scratch control."""
    steps: int | None = Field(default=None, ge=0)
    """Updates of the weights."""
    flops: float | None = Field(default=None, ge=0)
    """Training FLOPs by FLOPS_CONVENTION, generator, decoder and teacher included."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall-clock time of training on the machine at hand: its first updates are timed, and the
    number of updates is settled from them. Two machines give two different runs."""

    @property
    def nothing(self) -> bool:
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


class LengthPhase(Protocol):
    """What is read here of a phase of a pretraining run."""

    @property
    def fraction(self) -> float: ...
    @property
    def sequence_length(self) -> int: ...


def mean_sequence_length(phases: Sequence[LengthPhase]) -> float:
    """Tokens of a full sequence, averaged over the updates."""
    return sum(phase.fraction * phase.sequence_length for phase in phases)


def total_steps(budget: Budget, batch_size: int, phases: Sequence[LengthPhase]) -> int:
    """Updates that `budget` pays for: its tokens over the mean tokens of a batch, rounded up."""
    if budget.steps is not None:
        return budget.steps
    tokens_per_step = batch_size * mean_sequence_length(phases)
    steps = (budget.tokens or 0) / tokens_per_step
    return math.ceil(steps - 1e-9)  # the fractions of the phases sum to 1 but for rounding


FLOPS_CONVENTION = (
    "matrix products only, 2 per multiply-add; backward = 2 x forward; embedding lookups free; "
    "output layer at predicted positions only"
)
"""What `training_flops` counts. One run has several defensible figures: this is ours."""


def training_flops(
    size: Size,
    vocab_size: int,
    *,
    num_tokens: float,
    sequence_length: float,
    predicted_share: float,
) -> float:
    """FLOPs of training on `num_tokens` tokens, by FLOPS_CONVENTION.

    Kaplan et al. 2020, table 1 (forward 2N + attention), three times for forward and backward, and
    the masked-LM head (dense layer and vocabulary) on `predicted_share` of the positions.
    """
    hidden, layers = size.hidden_size, size.num_layers
    weights = layers * (4 * hidden**2 + 2 * hidden * size.intermediate_size)
    attention = 2 * layers * sequence_length * hidden  # scores and their weighted sum
    head = predicted_share * (hidden**2 + hidden * vocab_size)
    return 3.0 * 2.0 * (weights + attention + head) * num_tokens
