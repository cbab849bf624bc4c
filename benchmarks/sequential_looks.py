"""Wrong verdicts, power and seeds used of experiments with declared looks, by simulation.

    python benchmarks/sequential_looks.py [--trials 2000] [--seed 0]

Runs are normal with the same standard deviation in all arms, the unit of what follows; no two arms
share checkpoints. Each trial draws the runs of all seeds, makes the looks in their order with the
report's test and p adjusted for looks, and stops at the first verdict that confirms or refutes.
*undeclared* judges each look at 5 % as if it were the only one; *none* looks at the end alone.

- a > b: without a difference; power at the difference that the end alone finds in four of five.
- a > b and c > d, with Holm's correction: without differences, whether any is found.
- a = b within 3: wrong where the arms are 3 apart (each side is a one-sided test at 5 %).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks import common
from harness.analysis.comparison.differences import LEVEL
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import holm
from harness.analysis.statistics.sequential import SPENDING, nominal_levels
from harness.analysis.statistics.variance import Components, minimum_detectable_difference
from harness.experiment.expectation import Equality
from harness.experiment.experiment import Experiment
from harness.report.verdict import Claim, Word, judge

SCHEDULES: Mapping[str, tuple[int, ...]] = {"3, 5, 10": (3, 5, 10), "5, 10": (5, 10)}
RULES = ("none", "obrien_fleming", "pocock", "undeclared")
MARGIN = 3.0
EFFECT = minimum_detectable_difference(Components(1.0, float("nan"), 0.0), 10, 1)
CASES: Mapping[str, tuple[Sequence[str], Mapping[str, float]]] = {
    "a > b: no difference": (["a > b"], {"a": 0, "b": 0}),
    f"a > b: a difference of {EFFECT:.2f}": (["a > b"], {"a": EFFECT, "b": 0}),
    "a > b, c > d: no difference": (["a > b", "c > d"], dict.fromkeys("abcd", 0)),
    "a = b within 3: 3 apart": ([f"a = b within {MARGIN:g}"], {"a": MARGIN, "b": 0}),
}
"""What is expected and true, to the expectations and the mean of each arm."""
ALPHAS = np.geomspace(1e-6, 0.999, 100)
"""Where p adjusted for looks is computed; it is interpolated between them."""

Scale = tuple[np.ndarray, float]
"""The level of p of a look at each of ALPHAS, and at 5 %."""


def scales(rule: str, counts: Sequence[int], sides: int) -> dict[int, Scale]:
    """The numbers of seeds at which a rule looks, to the scales of p there."""
    if rule in SPENDING:
        every = np.array([nominal_levels(counts, rule, alpha, sides) for alpha in ALPHAS])
        at_5 = nominal_levels(counts, rule, 1 - LEVEL, sides)
        return dict(zip(counts, zip(every.T, at_5, strict=True), strict=True))
    looks = counts[-1:] if rule == "none" else counts
    return dict.fromkeys(looks, (ALPHAS, 1 - LEVEL))


def expectations(texts: Sequence[str]) -> Sequence[Any]:
    """The expectations as an experiment has them."""
    experiment = {"name": "looks", "question": "?", "pretrain": {"size": "nano"}, "expect": texts}
    return Experiment.model_validate(experiment).expect


def tested(one: Any, values: Mapping[str, np.ndarray], count: int, level: float) -> Difference:
    """The difference of the first seeds, with an interval of `level`."""
    own = {arm: values[arm][:count] for arm in one.arms}
    margin = one.margin if isinstance(one, Equality) else None
    return compared_by_seeds(own, level)(one.weights, margin, one.bound)


def judged(
    expected: Sequence[Any],
    values: Mapping[str, np.ndarray],
    found: Sequence[Difference],
    count: int,
    scale: Scale,
) -> set[Word]:
    """The decisions at a look, by p adjusted for looks, then by Holm, and intervals at the level of
    the look, as a report makes them."""
    levels, at_5 = scale
    p_values = [float(np.interp(one.p_value, levels, ALPHAS)) for one in found]
    if min(p_values) >= 1 - LEVEL:
        return set()
    words: list[Word] = []
    for one, adjusted, p_value in zip(expected, holm(p_values), p_values, strict=True):
        shown = replace(tested(one, values, count, 1 - at_5), p_value=p_value)
        words.append(judge(Claim(one, shown, adjusted=float(adjusted))).word)
    return {word for word in words if word in ("confirmed", "refuted")}


def trial(
    expected: Sequence[Any],
    values: Mapping[str, np.ndarray],
    looks_of: Mapping[str, Mapping[int, Scale]],
) -> dict[str, tuple[set[Word], int]]:
    """Rule to the decisions of the first look with any, and its number of seeds."""
    counts = looks_of["undeclared"]
    found = {n: [tested(one, values, n, LEVEL) for one in expected] for n in counts}
    ends = {}
    for rule, looks in looks_of.items():
        made = ((judged(expected, values, found[n], n, of), n) for n, of in looks.items())
        ends[rule] = next(((words, n) for words, n in made if words), (set(), max(looks)))
    return ends


def simulated(case: str, counts: Sequence[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """By rule: shares in per cent of the experiments with decisions, and the mean number of
    seeds."""
    texts, means = CASES[case]
    expected, rng = expectations(texts), np.random.default_rng(seed)
    looks_of = {rule: scales(rule, counts, 1 if "within" in case else 2) for rule in RULES}
    ends = []
    for _ in range(trials):
        drawn = {arm: mean + rng.standard_normal(counts[-1]) for arm, mean in means.items()}
        ends.append(trial(expected, drawn, looks_of))
    return [{"rule": rule, **_shares([one[rule] for one in ends])} for rule in RULES]


def _shares(ends: Sequence[tuple[set[Word], int]]) -> dict[str, float]:
    shares = {
        word: 100 * sum(word in decided for decided, _ in ends) / len(ends)
        for word in ("confirmed", "refuted")
    }
    either = 100 * sum(bool(decided) for decided, _ in ends) / len(ends)
    return {**shares, "either": either, "mean_seeds": float(np.mean([at for _, at in ends]))}


def page(figures: dict[str, Any]) -> str:
    """The table."""
    head = ["looks", "expected: true", *(rule.replace("_", "-") for rule in RULES)]
    known = {(row["looks"], row["case"], row["rule"]): row for row in figures["rows"]}
    rows = [
        [looks, case, *(_cell(known[looks, case, rule]) for rule in RULES)]
        for looks in SCHEDULES
        for case in CASES
    ]
    setting = (
        "Experiments with a verdict confirmed / refuted / either at some look, in per cent of "
        f"{figures['settings']['trials']:,} simulations a cell, and in brackets the mean number of "
        "seeds per arm if the experiment stops at the first decision. Columns are rules of the "
        "looks: none before the end, two spending functions, and looks that are not declared, "
        "judged at 5 % each. Differences in standard deviations between seeds."
    )
    return common.markdown(__file__, "Sequential looks", setting, head, rows, 2)


def _cell(row: Mapping[str, Any]) -> str:
    shares = " / ".join(f"{row[name]:.1f}" for name in ("confirmed", "refuted", "either"))
    return f"{shares} ({row['mean_seeds']:.1f})"


def main() -> None:
    """Simulates all cases and writes the table."""
    arguments = common.parse_arguments(__doc__, "sequential_looks", trials=2000, seed=0)
    rows = [
        {"looks": looks, "case": case} | row
        for looks, counts in SCHEDULES.items()
        for case in CASES
        for row in simulated(case, counts, arguments.trials, arguments.seed)
    ]
    figures = {"settings": common.settings(arguments), "rows": rows}
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
