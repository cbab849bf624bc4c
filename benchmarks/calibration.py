"""How often a 95 % interval holds the truth, and how often two equal arms are told apart.

    python benchmarks/calibration.py [--trials 1000] [--replicates 300]

A run answers an example rightly if its skill exceeds the example's difficulty. The skill is that of
its arm, plus normal terms of its pretraining seed (one for all tasks and one for each) and of its
fine-tuning seed; the difficulty is that of the example for everyone, plus a normal term of the
example for the arm, plus noise of each answer. In points of accuracy, a pretraining seed spreads by
about 3 and a fine-tuning seed by about 2, as the committed reports of the micro-world have it. The
truth is known, since a probit of normal terms is one. Each trial draws seeds and examples anew:

- A/A: the arms have the same skill; an interval without zero is an error, nominally in 5 %.
- A/B: the arms differ by 5 points; the interval should hold the true difference in 95 %.
- shared: arms of the same checkpoints, as two ways of adapting them: the pretraining terms are the
  same for both, and the comparison is paired.

Each by the multi-bootstrap and by Welch's interval, on one task of 500 examples, on one of 4,000,
where nearly all the spread is of the seeds, and on the average of four tasks of 200. Figures go to
benchmarks/results/.
"""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import norm

from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores, compare, summarise
from harness.analysis.statistics.welch import seed_means, welch

RESULTS = Path(__file__).parent / "results" / "calibration.json"
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
    """What is simulated."""

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
        hard = DIFFICULTY * rng.standard_normal(case.num_examples)
        hard = hard + OF_THE_ARM * rng.standard_normal((2, 1, 1, case.num_examples))
        noise = rng.standard_normal((*skill.shape, case.num_examples))
        right = (skill[..., None] > hard + noise).reshape(-1, case.num_examples, 1)
        scores = bootstrap_scores(
            {"accuracy": right.astype(float)},
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
    """Method to whether its interval holds the true difference, and the interval's width."""
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
    """Method to the share of intervals that hold the truth, in per cent, and their mean width."""
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


def table(figures: dict[str, Any]) -> str:
    """As markdown: errors of A/A comparisons, coverage of the others."""
    settings = figures["settings"]
    error = 100 * np.sqrt(0.05 * 0.95 / settings["trials"])
    lines = [
        "# Calibration",
        "",
        f"{settings['trials']:,} simulated comparisons a cell, {settings['replicates']} resamples, "
        f"{FINETUNES} fine-tuning runs a pretraining seed; nominal: 5 % errors, 95 % coverage; "
        f"Monte-Carlo standard error {error:.1f}. Width in points of accuracy.",
        "",
        "| comparison | on | seeds | multi-bootstrap | width | Welch | width |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in figures["rows"]:
        cells = []
        for name in ("multi-bootstrap", "welch"):
            holds = row[name]["holds"]
            errs = row["comparison"].startswith("A/A")
            word = f"{100 - holds:.1f} % errors" if errs else f"{holds:.1f} % covered"
            cells += [word, f"{row[name]['width']:.1f}"]
        lines.append(
            f"| {row['comparison']} | {row['on']} | {row['seeds']} | {' | '.join(cells)} |"
        )
    return "\n".join([*lines, "", "Made by `python benchmarks/calibration.py`.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = []
    for comparison, (difference, shared) in CASES.items():
        for on, (num_tasks, num_examples) in SETTINGS.items():
            for num_seeds in SEEDS:
                case = Case(num_seeds, num_tasks, num_examples, difference, shared)
                found = measure(case, arguments.trials, arguments.replicates, arguments.seed)
                rows.append({"comparison": comparison, "on": on, "seeds": num_seeds, **found})
                print(rows[-1], flush=True)
    figures = {"settings": vars(arguments), "rows": rows}
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text(table(figures))


if __name__ == "__main__":
    main()
