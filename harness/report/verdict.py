"""The differences between arms, with their uncertainty, and what follows for the expectation."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from harness.leaderboard.averages import Term, combine, terms_of
from harness.leaderboard.tables import Table
from harness.report.data import ReportData, Scored
from harness.statistics import Difference, Runs, bootstrap_scores, common_seeds
from harness.statistics.multiple import benjamini_hochberg, holm
from harness.statistics.welch import seed_means, welch
from harness.tasks.metrics import METRICS
from harness.tasks.scoring import LABELS
from harness.tasks.task import Column

REPLICATES = 1000
MANY_ARMS = 8
"""With more arms than this not every pair is compared: the pages would be of nothing else."""
LEVEL = 0.95
EXAMPLES_SEED = 1
AVERAGE = "average"
"""Name of the suite's average among the columns."""

ArmRuns = Mapping[str, Runs]
"""Task to the runs of an arm."""


@dataclass(frozen=True)
class Pair:
    """Two arms, and how far the first is above the second."""

    first: str
    second: str
    expected: bool
    """Whether the source says that the first is better."""
    differences: Mapping[str, Difference | None]
    """Column, and AVERAGE, to the difference of scores x 100; null where an arm lacks a score."""
    claim: float | None = None
    """p of the average's difference by Holm, among the expected pairs; null of another pair."""
    screen: Mapping[str, float] = field(default_factory=dict)
    """The keys of `differences` to their p by Benjamini-Hochberg, among all of all pairs."""

    @property
    def average(self) -> Difference | None:
        """The difference on the suite's average."""
        return self.differences[AVERAGE]


@dataclass(frozen=True)
class Verdict:
    """What the data says of one expected comparison."""

    pair: Pair
    word: Literal["confirmed", "refuted", "inconclusive"]
    reason: str


def judge(pair: Pair, pretrain_seeds: int) -> Verdict:
    """By whether the interval of the average's difference excludes zero, and on which side, and
    whether it still would as one of several claims.

    One pretraining seed (of the arm with fewer) decides nothing: how far two runs of one arm lie
    apart is not known then, and the interval leaves it out.
    """
    found = pair.average
    if pretrain_seeds < 2:
        reason = "one pretraining seed cannot show how far two runs of one arm lie apart"
        return Verdict(pair, "inconclusive", reason)
    if found is None:
        return Verdict(pair, "inconclusive", "the average is missing for one of them")
    if found.low <= 0 <= found.high:
        return Verdict(pair, "inconclusive", "the interval includes zero")
    if pair.claim is not None and pair.claim >= 1 - LEVEL:
        reason = "the interval excludes zero, but not enough for one of several expectations"
        return Verdict(pair, "inconclusive", reason)
    if found.low > 0:
        return Verdict(pair, "confirmed", "the interval lies above zero")
    return Verdict(pair, "refuted", "the interval lies below zero")


def pairwise(
    data: ReportData, table: Table, runs: Mapping[str, ArmRuns] | None = None
) -> tuple[Pair, ...]:
    """Every pair of arms that have results, expected ones first and in the expected direction; of
    more than MANY_ARMS, the others are those of the arm that ranks first. `runs` saves the time of
    `arm_runs`.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    runs = runs or arm_runs(data, table)
    expected = [pair for pair in data.expect if set(pair) <= set(data.arms)]
    seen = {frozenset(pair) for pair in expected}
    pairs: Iterable[tuple[str, str]] = combinations(data.arms, 2)
    if len(data.arms) > MANY_ARMS:
        first = table.rows[0].name
        pairs = ((first, arm) for arm in data.arms if arm != first)
    others = [pair for pair in pairs if frozenset(pair) not in seen]
    paired = same_checkpoints(data.differences)
    found = [
        Pair(
            first,
            second,
            place < len(expected),
            differences(runs[first], runs[second], table, paired=paired(first, second)),
        )
        for place, (first, second) in enumerate([*expected, *others])
    ]
    return tuple(_adjusted(found))


def same_checkpoints(
    differences: Mapping[str, Mapping[str, Any]],
) -> Callable[[str, str], bool]:
    """Whether two arms start from the same pretrained models: no field of pretraining differs.

    Args:
        differences: dotted path to {arm: value}, for every field in which the arms differ.
    """
    fields = [of for path, of in differences.items() if path.startswith("pretrain.")]
    return lambda first, second: all(of.get(first) == of.get(second) for of in fields)


def _adjusted(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The pairs with their p-values as claims and as a screen."""
    claims = [pair for pair in pairs if pair.expected and pair.average]
    of_claims = iter(holm([pair.average.p_value for pair in claims if pair.average]))
    cells = [(i, name) for i, p in enumerate(pairs) for name, d in p.differences.items() if d]
    p_values = [found.p_value for p in pairs for found in p.differences.values() if found]
    of_cells = dict(zip(cells, benjamini_hochberg(p_values), strict=True))
    for place, pair in enumerate(pairs):
        yield replace(
            pair,
            claim=float(next(of_claims)) if pair in claims else None,
            screen={name: float(p) for (i, name), p in of_cells.items() if i == place},
        )


def differences(
    first: ArmRuns, second: ArmRuns, table: Table, *, paired: bool = False
) -> dict[str, Difference | None]:
    """Column, and AVERAGE, to the difference of scores x 100; null where an arm lacks a score.

    Args:
        paired: whether both arms start from the same checkpoints.
    """
    terms: dict[str, Sequence[Term]] = {column.name: [(column,)] for column in table.columns}
    terms[AVERAGE] = terms_of(table.average, table.suite)
    return {name: _difference(first, second, of, paired) for name, of in terms.items()}


def _difference(
    first: ArmRuns, second: ArmRuns, terms: Sequence[Term], paired: bool
) -> Difference | None:
    columns = [column for term in terms for column in term]
    tasks = {column.task for column in columns}
    if not tasks <= first.keys() & second.keys():
        return None
    sides = [{task: arm[task] for task in tasks} for arm in (first, second)]
    seeds = [common_seeds(side) for side in sides]
    scores = [_seed_scores(side, columns) for side in sides]
    if not all(map(len, seeds)) or not all(scores):
        return None
    means = [100 * combine(terms, found) for found in scores]
    return welch(*means, paired=paired and np.array_equal(seeds[0], seeds[1]), level=LEVEL)


def _seed_scores(arm: ArmRuns, columns: Sequence[Column]) -> dict[Column, np.ndarray]:
    """Column to [1 + REPLICATES, seeds], the mean of its metrics; empty if the arm lacks one."""
    cells = seed_means(arm)
    wanted = {c: [(c.task, _cell(c.split, metric)) for metric in c.metrics] for c in columns}
    if not all(cell in cells for found in wanted.values() for cell in found):
        return {}
    return {c: np.mean([cells[cell] for cell in found], axis=0) for c, found in wanted.items()}


def _cell(split: str, metric: str) -> str:
    return f"{split}/{metric}"


def arm_runs(data: Scored, table: Table) -> dict[str, dict[str, Runs]]:
    """Arm to task to runs, all scored on the same resamples of the examples.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    runs: dict[str, dict[str, Runs]] = {arm: {} for arm in data.arms}
    for number, task in enumerate(table.suite.tasks):
        columns = [column for column in table.columns if column.task == task]
        index = _complete_runs(data, columns)
        if index.empty:
            continue
        scores = _task_scores(data, columns, index, number)
        for arm, rows in index.groupby("arm", sort=False):
            runs[str(arm)][task] = Runs(
                pretrain_seeds=rows["pretrain_seed"].to_numpy(),
                finetune_seeds=rows["finetune_seed"].to_numpy(),
                scores={cell: values[:, rows.index] for cell, values in scores.items()},
            )
    return runs


def _complete_runs(data: Scored, columns: Sequence[Column]) -> pd.DataFrame:
    """The runs of a task (arm, seeds, key), of the arms whose runs all have every score of its
    columns: one undefined score leaves its arm out, as it leaves its cell of the table empty. A
    split that no arm was scored on (it is not in the mirror) takes nothing from the others."""
    results = data.results
    here = results[(results["task"] == columns[0].task) & results["arm"].isin(list(data.arms))]
    cells = {(c.split, m) for c in columns for m in c.metrics}
    cells &= set(zip(here["split"], here["metric"], strict=True))
    wanted = [cell in cells for cell in zip(here["split"], here["metric"], strict=True)]
    identity = ["arm", "pretrain_seed", "finetune_seed", "key"]
    groups = here[np.array(wanted, dtype=bool)].groupby(identity)
    counts = groups["value"].count().rename("cells").reset_index()
    least = counts.groupby("arm")["cells"].transform("min")
    return counts[least == len(cells)].reset_index(drop=True) if cells else counts.iloc[:0]


def _task_scores(
    data: Scored, columns: Sequence[Column], index: pd.DataFrame, number: int
) -> dict[str, np.ndarray]:
    """`split/metric` to [1 + REPLICATES, runs], in the order of `index`."""
    counts = {key: data.counts(key) for key in dict.fromkeys(index["key"])}
    scored = data.results[data.results["task"] == columns[0].task]["split"].unique()
    wanted: dict[str, list[str]] = {}
    for column in columns:
        if column.split in scored:
            wanted.setdefault(column.split, []).extend(column.metrics)
    scores = {}
    for place, (split, metrics) in enumerate(wanted.items()):
        generator = np.random.default_rng([EXAMPLES_SEED, number, place])
        found = bootstrap_scores(
            stack_counts(counts, list(index["key"]), split, list(dict.fromkeys(metrics))),
            {metric: METRICS[metric].from_counts for metric in metrics},
            REPLICATES,
            generator,
        )
        scores.update({_cell(split, metric): values for metric, values in found.items()})
    return scores


def stack_counts(
    counts: Mapping[str, Mapping[str, np.ndarray]],
    keys: Sequence[str],
    split: str,
    metrics: Sequence[str],
) -> dict[str, np.ndarray]:
    """Metric to the counts [num_runs, num_units, k] of one split, of the runs in `keys`.

    Raises:
        ValueError: the runs were not scored on the same examples.
    """
    cell = _cell(split, LABELS)
    for key in keys:
        if not np.array_equal(counts[key][cell], counts[keys[0]][cell]):
            raise ValueError(
                f"runs must be scored on the same examples, but {keys[0]} and {key} differ on "
                f"{split}"
            )
    return {
        metric: np.stack([counts[key][_cell(split, metric)] for key in keys]) for metric in metrics
    }
