"""Limits of statistical tests with few pretraining seeds."""

from math import comb

SHOWN_SEEDS = 29
"""Seeds of which one in ten failing runs shows itself in 19 of 20 cases."""


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


def unseen_share(num_seeds: int) -> float:
    """The share of runs that fail of which `num_seeds` runs show none in 1 of 20 cases."""
    return float(1 - 0.05 ** (1 / num_seeds))


def unseen_note(num_seeds: int) -> str:
    """That runs that fail may not be among those seen, which no interval includes; empty for
    SHOWN_SEEDS and more."""
    if num_seeds >= SHOWN_SEEDS:
        return ""
    share = f"{100 * unseen_share(num_seeds):.0f} %"
    return (
        f"{num_seeds} seeds may miss runs that fail: if {share} of an arm's runs do, its "
        "seeds show none in 1 of 20 cases, and more often if fewer do. Intervals and "
        "verdicts hold for runs such as those seen."
    )


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
            "Two groups of runs look like spread: where three in ten runs fail, up to "
            "one in ten verdicts on two equal arms is false. Declare 3 seeds or more to compare "
            "arms."
        )
    few = "few permutations" if permutation < 0.05 else "too few permutations to help"
    return (
        f"{arms} have {num_seeds} pretraining seeds. So few runs give a rough estimate of the "
        "variation between seeds: only large differences exclude zero, and the intervals assume "
        f"normally distributed scores. Tests without that assumption have {few}: a permutation "
        f"test over seeds cannot give p below {permutation:.2g}, a paired sign-flip test none "
        f"below {sign_flip:.2g}."
    )
