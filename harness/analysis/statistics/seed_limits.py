"""Limits of statistical tests with few pretraining seeds."""

from math import comb


def seed_limits(num_seeds: int) -> tuple[float, float]:
    """The smallest two-sided p values that tests without distributional assumptions can give.

    Args:
        num_seeds: pretraining seeds S of each of two arms.

    Returns:
        That of an unpaired permutation test, 2 / (2S choose S), and that of a paired sign-flip
        test, 2 / 2^S.

    Raises:
        ValueError: `num_seeds` is less than 1.
    """
    if num_seeds < 1:
        raise ValueError(f"num_seeds must be at least 1, but is {num_seeds}")
    return 2 / comb(2 * num_seeds, num_seeds), 2 / 2**num_seeds


def seed_note(num_seeds: int, arms: str = "The arms") -> str:
    """What `num_seeds` pretraining seeds cannot show about `arms`, in a few sentences.

    Raises:
        ValueError: `num_seeds` is less than 1.
    """
    permutation, sign_flip = seed_limits(num_seeds)
    if num_seeds == 1:
        return (
            f"{arms} have 1 pretraining seed: their intervals do not include the variation between "
            "pretraining runs and hold for these checkpoints only."
        )
    if num_seeds == 2:
        return (
            f"{arms} have 2 pretraining seeds, which hardly bound a difference: the variation "
            "between seeds is estimated from two runs of an arm, so intervals are three to seven "
            "times as wide as with 5 seeds, and an inconclusive difference may still be large. "
            "Declare 3 seeds or more to compare arms."
        )
    return (
        f"{arms} have {num_seeds} pretraining seeds. So few runs give a rough estimate of the "
        "variation between seeds: only large differences exclude zero, and the intervals assume "
        "normally distributed scores. Tests without that assumption have too few permutations to "
        f"help: a permutation test over seeds cannot give p below {permutation:.2g}, "
        f"a paired sign-flip test none below {sign_flip:.2g}."
    )
