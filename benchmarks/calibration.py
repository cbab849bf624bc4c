"""Coverage of 95 % intervals, and the rate of false differences between two equal arms.

    python benchmarks/calibration.py [--trials 1000] [--replicates 300] [--seed 0]

A run answers an example correctly if its skill exceeds the example's difficulty. Skill is that of
the arm, plus normal terms of the pretraining seed (one for all tasks and one for each) and of the
fine-tuning seed; difficulty is that of the example, plus a normal term of the example for the arm,
plus noise of each answer. In points of accuracy, the standard deviation of pretraining seeds is
about 3 and that of fine-tuning seeds about 2, as in the committed reports on the micro-world. The
true difference is known: accuracy is a probit of the skill. Each trial draws new seeds and
examples:

- A/A: the arms have the same skill; an interval without zero is an error, nominally in 5 %.
- A/B: the arms differ by 5 points; the interval should cover the true difference in 95 %.
- shared: both arms start from the same checkpoints, as two adaptation methods do: they have the
  same pretraining terms, and the comparison is paired.

Each by the multi-bootstrap and by Welch's interval, on one task of 500 examples, on one of 4,000,
where nearly all variance comes from the seeds, and on the average of four tasks of 200.
"""

import itertools
import os
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import norm

from benchmarks import common
from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores, compare, summarise
from harness.analysis.statistics.welch import seed_means, welch

RESULTS = common.RESULTS / "calibration.json"
SEEDS = (2, 3, 5, 10)
FINETUNES = 3
PRETRAIN, PRETRAIN_TASK, FINETUNE = 0.08, 0.08, 0.07
"""Standard deviations of skill, in units of the noise of an answer; 0.1 is about 2.6 points."""
DIFFICULTY, OF_THE_ARM = 0.8, 0.3
SETTINGS = {"500 examples": (1, 500), "4,000 examples": (1, 4000), "4 tasks of 200": (4, 200)}
"""Tasks, and examples of each."""
SPREAD = float(
    np.sqrt(1 + DIFFICULTY**2 + OF_THE_ARM**2 + PRETRAIN**2 + PRETRAIN_TASK**2 + FINETUNE**2)
)
BASE = 0.75


@dataclass(frozen=True)
class Case:
    """A simulated comparison."""

    num_seeds: int
    num_tasks: int
    num_examples: int
    difference: float
    shared: bool
    """Whether both arms start from the same checkpoints."""

    @property
    def skills(self) -> tuple[float, float]:
        """Of both arms, in units of the noise of an answer."""
        better, worse = norm.ppf([BASE, BASE - self.difference]) * SPREAD
        return float(better), float(worse)


def simulate(
    case: Case, replicates: int, rng: np.random.Generator
) -> tuple[dict[str, Runs], dict[str, Runs]]:
    """Task to the runs of each arm, scored on resampled examples."""
    common = PRETRAIN * rng.standard_normal((2, case.num_seeds, 1))
    arms: tuple[dict[str, Runs], dict[str, Runs]] = ({}, {})
    for task in range(case.num_tasks):
        pretrain = common + PRETRAIN_TASK * rng.standard_normal((2, case.num_seeds, 1))
        if case.shared:
            pretrain[1] = pretrain[0]
        skill = np.array(case.skills)[:, None, None] + pretrain
        skill = skill + FINETUNE * rng.standard_normal((2, case.num_seeds, FINETUNES))
        difficulty = DIFFICULTY * rng.standard_normal(case.num_examples)
        difficulty = difficulty + OF_THE_ARM * rng.standard_normal((2, 1, 1, case.num_examples))
        noise = rng.standard_normal((*skill.shape, case.num_examples))
        correct = (skill[..., None] > difficulty + noise).reshape(-1, case.num_examples, 1)
        scores = bootstrap_scores(
            {"accuracy": correct.astype(float)},
            {"accuracy": lambda sums: sums[..., 0] / case.num_examples},
            replicates,
            rng,
        )["accuracy"]
        runs = case.num_seeds * FINETUNES
        for number, arm in enumerate(arms):
            first = 0 if case.shared else number * case.num_seeds
            arm[str(task)] = Runs(
                pretrain_seeds=np.repeat(np.arange(first, first + case.num_seeds), FINETUNES),
                finetune_seeds=np.tile(np.arange(FINETUNES), case.num_seeds) + runs * number,
                scores={"accuracy": scores[:, number * runs : (number + 1) * runs]},
            )
    return arms


def trial(case: Case, replicates: int, rng: np.random.Generator) -> dict[str, tuple[bool, float]]:
    """Method to whether its interval covers the true difference, and the interval's width."""
    first, second = simulate(case, replicates, rng)
    bootstrapped = list(compare(first, second, replicates, rng, paired=case.shared).values())
    means = [np.mean(list(seed_means(arm).values()), axis=0) for arm in (first, second)]
    found = {
        "multi-bootstrap": summarise(np.mean(bootstrapped, axis=0)),
        "welch": welch(means[0], means[1], paired=case.shared),
    }
    return {
        name: (one.low <= case.difference <= one.high, one.high - one.low)
        for name, one in found.items()
    }


def measure(case: Case, trials: int, replicates: int, seed: int) -> dict[str, Any]:
    """Method to the coverage of its intervals in per cent, and their mean width in points."""
    rng = np.random.default_rng([seed, case.num_seeds, case.num_tasks, case.shared])
    found = [trial(case, replicates, rng) for _ in range(trials)]
    return {
        name: {
            "holds": round(100 * float(np.mean([one[name][0] for one in found])), 1),
            "width": round(100 * float(np.mean([one[name][1] for one in found])), 1),
        }
        for name in found[0]
    }


CASES = {"A/A": (0.0, False), "A/B": (0.05, False), "A/A, shared": (0.0, True)}
"""Difference, and whether checkpoints are shared."""


def cells(row: dict[str, Any], method: str) -> list[str]:
    """Error rate of an A/A comparison or coverage of another, and width."""
    covered = row[method]["holds"]
    if row["comparison"].startswith("A/A"):
        return [f"{100 - covered:.1f} % errors", f"{row[method]['width']:.1f}"]
    return [f"{covered:.1f} % covered", f"{row[method]['width']:.1f}"]


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen = figures["settings"]
    error = 100 * np.sqrt(0.05 * 0.95 / chosen["trials"])
    setting = (
        f"{chosen['trials']:,} simulated comparisons a cell, {chosen['replicates']} resamples, "
        f"{FINETUNES} fine-tuning runs a pretraining seed; nominal: 5 % errors, 95 % coverage; "
        f"Monte-Carlo standard error {error:.1f}. Width in points of accuracy."
    )
    head = ("comparison", "on", "seeds", "multi-bootstrap", "width", "Welch", "width")
    rows = [
        [row[name] for name in ("comparison", "on")]
        + [str(row["seeds"]), *cells(row, "multi-bootstrap"), *cells(row, "welch")]
        for row in figures["rows"]
    ]
    return common.markdown(__file__, "Calibration", setting, head, rows, num_text_columns=2)


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"trials": 1000, "replicates": 300, "seed": 0}
    arguments = common.parse_arguments(__doc__, "calibration", **defaults)
    rows = []
    for (name, (difference, shared)), (on, sizes), num_seeds in itertools.product(
        CASES.items(), SETTINGS.items(), SEEDS
    ):
        case = Case(num_seeds, *sizes, difference, shared)
        found = measure(case, arguments.trials, arguments.replicates, arguments.seed)
        rows.append({"comparison": name, "on": on, "seeds": num_seeds, **found})
        print(rows[-1], flush=True)
    figures = {"settings": common.settings(arguments), "rows": rows}
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
