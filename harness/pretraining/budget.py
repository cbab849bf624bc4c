"""How much a run may spend, and what it spends: updates, tokens, parameters, FLOPs."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pydantic import Field, model_validator

from harness.core.config import Value
from harness.pretraining.objectives.expected_lengths import expected_parts
from harness.pretraining.training_flops import Network, objective_flops

if TYPE_CHECKING:
    from harness.pretraining.recipes.pretrain import Pretrain


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


def steps_of(
    budget: Budget,
    *,
    tokens_per_step: float,
    flops_per_step: float,
    steps_per_second: float | None = None,
) -> int:
    """Updates that `budget` pays for: tokens are rounded up to whole updates, FLOPs and time down.

    Raises:
        ValueError: the budget is time, and the run has not yet told how long an update takes.
    """
    if budget.nothing:
        return 0
    if budget.steps is not None:
        return budget.steps
    if budget.tokens is not None:
        steps = budget.tokens / tokens_per_step
        return math.ceil(steps - 1e-9)  # the fractions of the phases sum to 1 but for rounding
    if budget.flops is not None:
        return math.floor(budget.flops / flops_per_step + 1e-9)
    if steps_per_second is None:
        raise ValueError(
            "the updates of a budget in seconds are settled by the run, which times its first ones"
        )
    return math.floor((budget.seconds or 0) * steps_per_second + 1e-9)


def planned_steps(spec: "Pretrain", steps_per_second: float | None = None) -> int:
    """Updates of a run; under a budget in seconds, at a measured rate.

    Raises:
        ValueError: the budget is in seconds, and no rate is given.
    """
    return steps_of(
        spec.budget,
        tokens_per_step=tokens_per_step(spec),
        # Of someone else's network they are not known, and asked for by this budget alone.
        flops_per_step=training_flops_per_step(spec) if spec.budget.flops else math.inf,
        steps_per_second=steps_per_second,
    )


def tokens_per_step(spec: "Pretrain") -> float:
    """Tokens of the text that an update reads, before it is corrupted, in mean over the run."""
    return spec.batch_size * mean_sequence_length(spec.phases)


def training_flops_per_step(spec: "Pretrain") -> float:
    """FLOPs of an update by FLOPS_CONVENTION, in mean over the phases and the parts of a mixture.

    All sequences are taken to be full. What the run starts from is not counted: it is a run of its
    own.
    """
    return sum(
        phase.fraction * spec.batch_size * training_flops_per_sequence(spec, phase.sequence_length)
        for phase in spec.phases
    )


def training_flops_per_sequence(spec: "Pretrain", num_tokens: int) -> float:
    """FLOPs of training on a text of `num_tokens`, special tokens included."""
    vocab_size, teacher = spec.tokenizer.vocab_size, None
    if spec.teacher:
        teacher = Network(spec.teacher.model, spec.teacher.size, vocab_size)
    network = Network(spec.model, spec.size, vocab_size)
    return sum(
        share
        * objective_flops(objective, network, lengths, teacher=teacher, batch_size=spec.batch_size)
        for share, objective, lengths in expected_parts(spec.objective, num_tokens)
    )


FLOPS_CONVENTION = (
    "matrix products only, 2 per multiply-add; backward = 2 x forward; embedding lookups free; "
    "output layer at predicted positions only"
)
"""What our FLOPs count. One run has several defensible figures: this is ours."""
