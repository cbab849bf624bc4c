"""False verdicts and false ranks where the scores of seeds are not normal.

    python benchmarks/seed_distributions.py [--trials 20000] [--boards 5000] [--seed 0]

Scores of pretraining seeds are drawn from a normal distribution, one with two groups (a share of
the runs fails, which costs a distance in standard deviations of the others), a lognormal one (the
tail is of low scores), and normal ones with unequal variances. All arms have the same mean, so
every verdict and every rank below the first is false, and an interval covers the true difference
of 0 unless there is a verdict. Each trial draws new scores and applies the whole procedure,
detection of groups included (`harness.analysis.statistics.two_groups`), and Welch's test alone,
which was the procedure before:

- both: two arms of the same distribution;
- one: an arm of that distribution, and a normal one; and how many of the false verdicts fall on
  samples that show both groups (the rest show one, as those of an arm without groups do);
- of eight: two arms in an experiment of eight of the same distribution, all others included;
- ranks: whether a board of these eight has a second rank;
- shared: the same, if all start from the same checkpoints, and runs fail in fine-tuning.

The power is that of normal seeds, where the procedure should cost nothing.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import false_discovery_control

from benchmarks import common
from benchmarks.simulated_decisions import (
    ARMS,
    LEVEL,
    PAIRS,
    decide,
    decide_paired,
    several_ranks,
)

RESULTS = common.RESULTS / "seed_distributions.json"
SEEDS = (2, 3, 5, 10)
SHARED = 10.0
"""Standard deviation of what arms share that start from the same checkpoint."""
DIFFERENCES = {2: (8.0, 15.0), 3: (3.0, 5.0), 5: (2.0, 2.5), 10: (1.2, 1.6)}
"""Seeds to true differences, in standard deviations, at which power is measured."""
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Scores with mean 0 of an array of runs, in standard deviations."""


def normal(sd: float = 1.0) -> Draw:
    """Normal scores."""
    return lambda rng, shape: sd * rng.standard_normal(shape)


def failing(share: float, distance: float) -> Draw:
    """Normal scores, of which a share is lower by a distance."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape) - distance * ((rng.random(shape) < share) - share)

    return draw


def skewed(sigma: float) -> Draw:
    """Lognormal scores with the tail below the mean."""
    mean = np.exp(sigma**2 / 2)
    return lambda rng, shape: mean - np.exp(sigma * rng.standard_normal(shape))


@dataclass(frozen=True)
class Family:
    """How the seeds of arms are distributed."""

    name: str
    draw: Draw
    other: Draw
    """That of the other arm, where one arm alone is of the family."""


FAMILIES = (
    Family("normal", normal(), normal()),
    Family("normal, sd 6 and 1", normal(6.0), normal()),
    Family("normal, sd 6 and 0", normal(6.0), normal(0.0)),
    *(
        Family(f"{100 * share:.0f} % fail by {distance:.0f} sd", failing(share, distance), normal())
        for share in (0.1, 0.2, 0.3, 0.4)
        for distance in (5.0, 10.0, 30.0)
    ),
    *(Family(f"lognormal, sigma {sigma:g}", skewed(sigma), normal()) for sigma in (0.5, 1.0)),
)


def per_cent(found: np.ndarray | np.bool) -> float:
    """The share of true values."""
    return round(100 * float(np.mean(found)), 1)


def measure(family: Family, num_seeds: int, trials: int, boards: int, seed: int) -> dict[str, Any]:
    """A row of errors in per cent: by Welch's test alone, and as shipped."""
    rng = np.random.default_rng([seed, num_seeds])
    two = np.array([[0, 1]])
    both = decide(family.draw(rng, (trials, 2, num_seeds)), two)
    arms = [draw(rng, (trials, num_seeds)) for draw in (family.draw, family.other)]
    one = decide(np.stack(arms, axis=1), two)
    board = family.draw(rng, (boards, ARMS, num_seeds))
    if family.name.startswith("normal, "):  # half of the arms have the other variance
        board[:, ::2] = family.other(rng, (boards, ARMS // 2, num_seeds))
    of_board = decide(board, PAIRS)
    shared = board + SHARED * rng.standard_normal((boards, 1, num_seeds))
    of_shared = decide_paired(shared, PAIRS)
    false, seen = one.shipped[:, 0] < LEVEL, one.groups.any(-1)
    enough = seen.sum() >= 1000  # a standard error of at most 0.7
    return {
        "seeds": num_seeds,
        "both": [per_cent(p < LEVEL) for p in (both.welch, both.shipped)],
        "one": [per_cent(p < LEVEL) for p in (one.welch, one.shipped)],
        "seen": per_cent(seen),
        "false if seen": per_cent(false[seen]) if enough else None,
        "of eight": [per_cent(p[:, 0] < LEVEL) for p in (of_board.welch, of_board.shipped)],
        "ranks": [per_cent(several_ranks(board, p)) for p in (of_board.welch, of_board.shipped)],
        "shared": [
            per_cent(several_ranks(shared, p)) for p in (of_shared.welch, of_shared.shipped)
        ],
    }


def power(num_seeds: int, difference: float, trials: int, boards: int, seed: int) -> dict[str, Any]:
    """How often a true difference between normal arms is found, in per cent: a verdict on two
    arms, and the adjusted p of pairs of a board of which half of the arms is better."""
    rng = np.random.default_rng([seed, num_seeds, 1])
    shift = difference * (np.arange(ARMS) < ARMS // 2)[:, None]
    of_two = np.array([[difference], [0.0]])
    two = decide(rng.standard_normal((trials, 2, num_seeds)) + of_two, PAIRS[:1])
    board = decide(rng.standard_normal((boards, ARMS, num_seeds)) + shift, PAIRS)
    across = (PAIRS[:, 0] < ARMS // 2) & (PAIRS[:, 1] >= ARMS // 2)
    shared = decide_paired(rng.standard_normal((boards, ARMS, num_seeds)) + shift, PAIRS)
    adjusted, of_shared = (
        [false_discovery_control(p, axis=-1) for p in (found.welch, found.shipped)]
        for found in (board, shared)
    )
    return {
        "seeds": num_seeds,
        "difference": difference,
        "verdict": [per_cent(p < LEVEL) for p in (two.welch, two.shipped)],
        "board": [per_cent(p[:, across] < LEVEL) for p in adjusted],
        "shared": [per_cent(p[:, across] < LEVEL) for p in of_shared],
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown: errors, then power."""
    chosen = figures["settings"]
    errors = [100 * np.sqrt(0.05 * 0.95 / chosen[name]) for name in ("trials", "boards")]
    setting = (
        f"{chosen['trials']:,} pairs and {chosen['boards']:,} boards a row; nominal: 5 % errors; "
        f"Monte-Carlo standard error {errors[0]:.2f} (pairs) and {errors[1]:.2f} (boards). All "
        "arms have equal means: false verdicts in per cent, by Welch's test alone → as shipped. "
        "An interval covers the true difference in all other cases. Both, one: two arms; seen: "
        "samples of 'one' in which an arm shows two groups, and false verdicts among these. Of "
        "eight: a verdict on two of eight equal arms; ranks: boards of these with a second rank; "
        "shared: such boards of arms that start from the same checkpoints and fail independently."
    )
    head = (
        "seeds are",
        "seeds",
        "both",
        "one",
        "seen",
        "false if seen",
        "of eight",
        "ranks",
        "shared",
    )
    rows = [
        [
            *(row["family"], str(row["seeds"]), _change(row["both"]), _change(row["one"])),
            *(
                f"{row['seen']:.1f}",
                "–" if row["false if seen"] is None else str(row["false if seen"]),
            ),
            *(_change(row["of eight"]), _change(row["ranks"]), _change(row["shared"])),
        ]
        for row in figures["rows"]
    ]
    of_power = [
        [
            *(str(row["seeds"]), f"{row['difference']:g}"),
            *(_change(row[name]) for name in ("verdict", "board", "shared")),
        ]
        for row in figures["power"]
    ]
    found = common.markdown(__file__, "Distributions of seeds", setting, head, rows)
    sheet = common.markdown(
        __file__,
        "Power with normal seeds",
        "True differences in standard deviations, found in per cent: a verdict on two arms; pairs "
        "of a board, 4 of whose 8 arms are better, by adjusted p; the same where all start "
        "from the same checkpoints.",
        ("seeds", "difference", "verdict", "board", "shared"),
        of_power,
        num_text_columns=0,
    )
    return f"{found}\n#{sheet}"


def _change(pair: list[float]) -> str:
    return f"{pair[0]:.1f} → {pair[1]:.1f}"


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"trials": 20_000, "boards": 5_000, "seed": 0}
    chosen = common.parse_arguments(__doc__, "seed_distributions", **defaults)
    sizes = (chosen.trials, chosen.boards, chosen.seed)
    rows = []
    for family in FAMILIES:
        for num_seeds in SEEDS:
            rows.append({"family": family.name, **measure(family, num_seeds, *sizes)})
            print(rows[-1], flush=True)
    of_power = [power(seeds, one, *sizes) for seeds in SEEDS for one in DIFFERENCES[seeds]]
    figures = {"settings": common.settings(chosen), "rows": rows, "power": of_power}
    common.save(figures, page(figures), chosen.out)


if __name__ == "__main__":
    main()
