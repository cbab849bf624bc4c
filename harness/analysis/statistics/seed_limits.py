"""What no test can do with few pretraining seeds."""

from dataclasses import dataclass
from math import comb, sqrt


@dataclass(frozen=True)
class SeedLimits:
    """What no test can do with this many pretraining seeds an arm."""

    multisets: int
    """Distinct bootstrap draws of the seeds."""
    shrinkage: float
    """Expected seed spread in the bootstrap over the true one, sqrt((S - 1) / S)."""
    permutation_floor: float
    """Smallest two-sided p of an unpaired permutation test."""
    sign_flip_floor: float
    """Smallest two-sided p of a paired sign-flip test."""


def seed_limits(num_seeds: int) -> SeedLimits:
    """Exact limits for `num_seeds` pretraining seeds in each of two arms.

    Raises:
        ValueError: less than one seed.
    """
    if num_seeds < 1:
        raise ValueError(f"at least one seed is needed, but got {num_seeds}")
    return SeedLimits(
        multisets=comb(2 * num_seeds - 1, num_seeds),
        shrinkage=sqrt((num_seeds - 1) / num_seeds),
        permutation_floor=min(1.0, 2 / comb(2 * num_seeds, num_seeds)),
        sign_flip_floor=min(1.0, 2 / 2**num_seeds),
    )


def seed_note(num_seeds: int) -> str:
    """One sentence on what `num_seeds` pretraining seeds an arm can and cannot show."""
    limits = seed_limits(num_seeds)
    if num_seeds == 1:
        return (
            "One pretraining seed an arm: the intervals leave out the spread between pretraining "
            "runs altogether, and speak of these checkpoints only."
        )
    return (
        f"{num_seeds} pretraining seeds an arm: the intervals know their spread from so few runs "
        "that only large differences exclude zero, and they rest on scores of seeds being normally "
        "distributed. A permutation test of the seeds, which does not, could not go below p = "
        f"{limits.permutation_floor:.2g}, a paired sign-flip test not below "
        f"{limits.sign_flip_floor:.2g}."
    )
