"""Updates, tokens and FLOPs of a declared pretraining run."""

import math
from typing import TypeVar

from harness.pretraining.budget import num_steps
from harness.pretraining.objectives.expected_lengths import expected_parts
from harness.pretraining.settings import PretrainSettings
from harness.pretraining.training_flops import objective_flops

Settings = TypeVar("Settings", bound=PretrainSettings)


def planned_steps(spec: PretrainSettings, steps_per_second: float | None = None) -> int:
    """Updates of a run.

    Args:
        steps_per_second: measured rate, for a budget in seconds.

    Raises:
        ValueError: the budget is in seconds, and no rate is given.
    """
    return num_steps(
        spec.budget,
        tokens_per_step=tokens_per_step(spec),
        # Unknown for the network of a checkpoint, and needed for a budget in FLOPs alone.
        flops_per_step=training_flops_per_step(spec) if spec.budget.flops else math.inf,
        steps_per_second=steps_per_second,
    )


def tokens_per_step(spec: PretrainSettings) -> float:
    """Tokens of text per update, before the transform; mean over the length phases."""
    length = sum(phase.fraction * phase.sequence_length for phase in spec.phases)
    return spec.batch_size * length


def training_flops_per_step(spec: PretrainSettings) -> float:
    """FLOPs of an update by FLOPS_CONVENTION; mean over the phases and the components of a mixture.

    Sequences are assumed to be full. The run `init_from` is not counted.
    """
    return sum(
        phase.fraction * spec.batch_size * training_flops_per_sequence(spec, phase.sequence_length)
        for phase in spec.phases
    )


def training_flops_per_sequence(spec: PretrainSettings, num_tokens: int) -> float:
    """FLOPs of training on one sequence of `num_tokens`, special tokens included."""
    return sum(
        share * objective_flops(objective, spec, lengths)
        for share, objective, lengths in expected_parts(spec.objective, num_tokens)
    )


def training_flops_per_token(spec: PretrainSettings, vocab_size: int) -> float:
    """FLOPs of training for a token of text, before the transform; see `training_flops_per_step`.

    Args:
        vocab_size: entries that the tokenizer has learned.
    """
    return training_flops_per_step(with_vocabulary(spec, vocab_size)) / tokens_per_step(spec)


def with_vocabulary(spec: Settings, vocab_size: int) -> Settings:
    """A run with the entries that its tokenizer has learned, for parameters and FLOPs."""
    size = {"vocab_size": vocab_size}
    return spec.model_copy(update={"tokenizer": spec.tokenizer.model_copy(update=size)})
