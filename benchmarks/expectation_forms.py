"""Wrong verdicts and power of each form of expectation, by simulation.

    python benchmarks/expectation_forms.py [--trials 2000] [--seed 0]

Runs are normal with the same standard deviation in all arms, the unit of what follows; no two arms
share checkpoints. Each trial draws new runs and judges one expectation at 5 %:

- a > b, and a - b > c - d of four arms: without a difference; power at a difference of 2.
- a > b > c > d > e: without a trend; power where the scores fall by 2 from a to e, in even steps.
- a above 0: at the level; power at 2 above it.
- a > b on x - y, a gap between two columns with a correlation of 0.5 in each run: without a
  difference of the gaps; power at 2.
- a > b in the standard deviation between 4 fine-tuning runs of each pretraining seed, which is not
  normal: where both are 1; power where that of a is 3.
- a > b and c > d: where neither differs, and where a and b alone do, by 10; power where both differ
  by 2.
- a < b in the tokens until a score reaches a level: where both reach it alike, and half of the runs
  do not before the end, or only a third do between two checkpoints; power where b reaches it 2
  later, and the budget ends between both.
- Kendall's tau of a, b, c, d in two outcomes above 0.5: where arms are 20 apart in the first
  outcome, and in the second a and b, and c and d, are equal but for a reverse difference of 0.001,
  so that tau is 1/3; power where both outcomes order the arms alike in steps of 4.
- a = b within 3: wrong where the arms are 3 apart (confirmed, and refuted); power where they are
  equal.
"""

import os
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks import common
from harness.analysis.comparison.differences import LEVEL
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.intersection_union import decisive
from harness.analysis.statistics.rank_agreement import rank_agreement
from harness.experiment.expectation import Both, Equality, Expectation, RankAgreement
from harness.experiment.experiment import Experiment
from harness.report.reached_levels import ReachedAmounts
from harness.report.verdict import Claim, judge

SEEDS = (2, 3, 5, 10)
EFFECT, MARGIN = 2.0, 3.0
FINETUNE_SEEDS = 4
TOKENS = "tokens to 60 on average"
RANKED = {"rank agreement of x and y": "a, b, c, d above 0.5"}
CASES: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "a > b: no difference": ("a > b", {"a": 0, "b": 0}),
    "a > b: a difference of 2": ("a > b", {"a": EFFECT, "b": 0}),
    "a - b > c - d: no difference": ("a - b > c - d", {"a": 1, "b": 0, "c": 1, "d": 0}),
    "a - b > c - d: a difference of 2": ("a - b > c - d", {"a": EFFECT, "b": 0, "c": 0, "d": 0}),
    "a > b > c > d > e: no trend": ("a > b > c > d > e", dict.fromkeys("abcde", 0)),
    "a > b > c > d > e: a fall by 2": (
        "a > b > c > d > e",
        {arm: EFFECT * (4 - place) / 4 for place, arm in enumerate("abcde")},
    ),
    "a above 0: at the level": ("a above 0", {"a": 0}),
    "a above 0: 2 above it": ("a above 0", {"a": EFFECT}),
    "a > b on x - y: equal gaps": ("a > b", {"a": 1, "b": 1}),
    "a > b on x - y: a difference of 2": ("a > b", {"a": EFFECT, "b": 0}),
    "a > b in spread: equal": ("a > b", {"a": 1, "b": 1}),
    "a > b in spread: three times as large": ("a > b", {"a": 3, "b": 1}),
    "a > b and c > d: neither": ("a > b and c > d", {"a": 0, "b": 0, "c": 0, "d": 0}),
    "a > b and c > d: the first alone": ("a > b and c > d", {"a": 10, "b": 0, "c": 0, "d": 0}),
    "a > b and c > d: both by 2": ("a > b and c > d", {"a": EFFECT, "b": 0, "c": EFFECT, "d": 0}),
    "a < b in tokens to a level: equal": ({TOKENS: "a < b"}, {"a": 0, "b": 0}),
    "a < b in tokens to a level: equal, in few steps": ({TOKENS: "a < b"}, {"a": 0, "b": 0}),
    "a < b in tokens to a level: 2 earlier": ({TOKENS: "a < b"}, {"a": -1, "b": 1}),
    "tau of a, b, c, d above 0.5: 1/3": (
        RANKED,
        {"a": (60, 20), "b": (40, 20.001), "c": (20, 0), "d": (0, 0.001)},
    ),
    "tau of a, b, c, d above 0.5: 1, in steps of 4": (
        RANKED,
        {"a": (12, 12), "b": (8, 8), "c": (4, 4), "d": (0, 0)},
    ),
    "a >= b within 3: 3 worse": (f"a >= b within {MARGIN:g}", {"a": -MARGIN, "b": 0}),
    "a >= b within 3: 1 worse": (f"a >= b within {MARGIN:g}", {"a": 2 - MARGIN, "b": 0}),
    "a = b within 3: 3 apart": (f"a = b within {MARGIN:g}", {"a": MARGIN, "b": 0}),
    "a = b within 3: equal": (f"a = b within {MARGIN:g}", {"a": 0, "b": 0}),
}
"""What is expected and true, to the expectation and the mean of each arm, or its means in two
outcomes; of spreads, the standard deviation of each arm."""
ENDS: Mapping[str, tuple[float, float]] = {
    "a < b in tokens to a level: equal": (-10, 0),
    "a < b in tokens to a level: equal, in few steps": (-0.43, 0.43),
    "a < b in tokens to a level: 2 earlier": (-10, 0),
}
"""Case to the first checkpoint and the budget, at which the tokens of runs are cut off."""


def normal(rng: np.random.Generator, mean: float, num_seeds: int) -> np.ndarray:
    """A score of each seed."""
    return mean + rng.standard_normal(num_seeds)


def gap(rng: np.random.Generator, mean: float, num_seeds: int) -> np.ndarray:
    """The difference of two columns in each seed; its standard deviation is 1."""
    columns = rng.multivariate_normal([mean, 0], [[1, 0.5], [0.5, 1]], size=num_seeds)
    return columns[:, 0] - columns[:, 1]


def of_two(rng: np.random.Generator, means: tuple[float, float], num_seeds: int) -> np.ndarray:
    """[num_seeds, 2]: independent scores in two outcomes."""
    return np.array(means) + rng.standard_normal((num_seeds, 2))


def spread(rng: np.random.Generator, deviation: float, num_seeds: int) -> np.ndarray:
    """The standard deviation between the fine-tuning runs of each seed."""
    return deviation * rng.standard_normal((num_seeds, FINETUNE_SEEDS)).std(axis=1, ddof=1)


def drawn_by(case: str) -> Callable[[np.random.Generator, Any, int], np.ndarray]:
    """How the values of an arm are drawn."""
    if "tau" in case:
        return of_two
    return spread if "in spread" in case else gap if "on x - y" in case else normal


def ranked(expected: RankAgreement, values: Mapping[str, np.ndarray]) -> Difference:
    """Kendall's tau minus the level."""
    by = [
        compared_by_seeds({arm: own[:, place] for arm, own in values.items()}, LEVEL)
        for place in range(2)
    ]
    pairs = [
        (by[0]({one: 1, other: -1}), by[1]({one: 1, other: -1}))
        for one, other in combinations(values, 2)
    ]
    return rank_agreement(pairs, expected.level, 1 - LEVEL)


def judged(case: str, expected: Expectation, values: Mapping[str, np.ndarray]) -> str:
    """The verdict on values of seeds."""
    if isinstance(expected, RankAgreement):
        return judge(Claim(expected, ranked(expected, values))).word
    undecided = ""
    if case in ENDS:
        reached = ReachedAmounts(
            {arm: own.clip(*ENDS[case]) for arm, own in values.items()}, *ENDS[case]
        )
        values, undecided = reached.values, reached.undecided
    compared = compared_by_seeds(values, LEVEL)
    margin = expected.margin if isinstance(expected, Equality) else None
    parts = expected.parts if isinstance(expected, Both) else [expected]
    found = [compared(part.weights, margin, part.bound) for part in parts]
    decider = decisive(found, expected.expected_side == "above") if len(parts) > 1 else 0
    return judge(Claim(expected, found[decider], undecided=undecided)).word


def shares(case: str, num_seeds: int, trials: int, seed: int) -> Any:
    """Shares in per cent of the expectations that are confirmed and refuted."""
    declared, means = CASES[case]
    draw = drawn_by(case)
    experiment = {"name": "forms", "question": "?", "pretrain": {"size": "nano"}}
    (expected,) = Experiment.model_validate({**experiment, "expect": declared}).expect
    rng, words = np.random.default_rng([seed, num_seeds]), []
    for _ in range(trials):
        values = {arm: draw(rng, mean, num_seeds) for arm, mean in means.items()}
        words.append(judged(case, expected, values))
    return {word: 100 * words.count(word) / trials for word in ("confirmed", "refuted")}


def page(figures: dict[str, Any]) -> str:
    """The table."""
    head = ["expected: true", *(f"{num} seeds" for num in SEEDS)]
    cells = {
        case: [
            f"{row['confirmed']:.1f} / {row['refuted']:.1f}"
            for row in figures["rows"]
            if row["case"] == case
        ]
        for case in CASES
    }
    rows = [[case, *of_seeds] for case, of_seeds in cells.items()]
    setting = (
        f"Expectations that are confirmed / refuted, in per cent of "
        f"{figures['settings']['trials']:,} simulations a cell, judged at 5 %; differences in "
        "standard deviations between seeds."
    )
    return common.markdown(__file__, "Forms of expectations", setting, head, rows)


def main() -> None:
    """Simulates all cases and writes the table."""
    arguments = common.parse_arguments(__doc__, "expectation_forms", trials=2000, seed=0)
    rows = [
        {"case": case, "seeds": num, **shares(case, num, arguments.trials, arguments.seed)}
        for case in CASES
        for num in SEEDS
    ]
    figures = {"settings": common.settings(arguments), "rows": rows}
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
