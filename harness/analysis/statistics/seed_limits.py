"""Limits of statistical tests with few pretraining seeds."""

from dataclasses import dataclass
from math import comb


@dataclass(frozen=True)
class SeedLimits:
    """The smallest two-sided p values that tests without distributional assumptions can give."""

    permutation_floor: float
    """Of an unpaired permutation test: 2 / (2S choose S)."""
    sign_flip_floor: float
    """Of a paired sign-flip test: 2 / 2^S."""


def seed_limits(num_seeds: int) -> SeedLimits:
    """Exact limits for two arms.

    Args:
        num_seeds: pretraining seeds of each arm.

    Raises:
        ValueError: `num_seeds` is less than 1.
    """
    if num_seeds < 1:
        raise ValueError(f"num_seeds must be at least 1, but is {num_seeds}")
    return SeedLimits(
        permutation_floor=2 / comb(2 * num_seeds, num_seeds),
        sign_flip_floor=2 / 2**num_seeds,
    )


def seed_note(num_seeds: int, arms: str = "The arms") -> str:
    """What `num_seeds` pretraining seeds cannot show about `arms`, in a few sentences."""
    limits = seed_limits(num_seeds)
    if num_seeds == 1:
        return (
            f"{arms} have 1 pretraining seed: their intervals do not include the variation between "
            "pretraining runs and hold for these checkpoints only."
        )
    return (
        f"{arms} have {num_seeds} pretraining seeds. So few runs give a rough estimate of the "
        "variation between seeds: only large differences exclude zero, and the intervals assume "
        "normally distributed scores. Tests without that assumption have too few permutations to "
        f"help: a permutation test over seeds cannot give p below {limits.permutation_floor:.2g}, "
        f"a paired sign-flip test none below {limits.sign_flip_floor:.2g}."
    )
