"""The differences between arms, with their uncertainty, and what follows for the expectation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from harness.leaderboard.averages import combine, terms_of
from harness.leaderboard.tables import Table
from harness.report.data import ReportData, Scored
from harness.statistics import (
    Difference,
    Runs,
    bootstrap_scores,
    common_seeds,
    compare,
    summarise,
)
from harness.tasks.metrics import METRICS
from harness.tasks.scoring import LABELS
from harness.tasks.task import Column

REPLICATES = 1000
MANY_ARMS = 8
"""With more arms than this not every pair is compared: the pages would be of nothing else."""
LEVEL = 0.95
EXAMPLES_SEED, RUNS_SEED = 1, 2
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
    """By whether the interval of the average's difference excludes zero, and on which side.

    One pretraining seed (of the arm with fewer) decides nothing: how far two runs of one arm lie
    apart is not known then, and the interval leaves it out.
    """
    found = pair.average
    if pretrain_seeds < 2:
        reason = "one pretraining seed cannot show how far two runs of one arm lie apart"
        return Verdict(pair, "inconclusive", reason)
    if found is None:
        return Verdict(pair, "inconclusive", "the average is missing for one of them")
    if found.low > 0:
        return Verdict(pair, "confirmed", "the interval lies above zero")
    if found.high < 0:
        return Verdict(pair, "refuted", "the interval lies below zero")
    return Verdict(pair, "inconclusive", "the interval includes zero")


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
    return tuple(
        Pair(first, second, place < len(expected), differences(runs[first], runs[second], table))
        for place, (first, second) in enumerate([*expected, *others])
    )


def differences(first: ArmRuns, second: ArmRuns, table: Table) -> dict[str, Difference | None]:
    """Column, and AVERAGE, to the difference of scores x 100; null where an arm lacks a score."""
    found: dict[str, Difference | None] = {}
    for column in table.columns:
        replicates = _replicates(first, second, [column])
        found[column.name] = summarise(replicates[column], LEVEL) if replicates else None
    terms = terms_of(table.average, table.suite)
    replicates = _replicates(first, second, [column for term in terms for column in term])
    found[AVERAGE] = summarise(combine(terms, replicates), LEVEL) if replicates else None
    return found


def _replicates(
    first: ArmRuns, second: ArmRuns, columns: Sequence[Column]
) -> dict[Column, np.ndarray]:
    """Column to [1 + REPLICATES] differences x 100; empty where an arm lacks a column."""
    tasks = list(dict.fromkeys(column.task for column in columns))
    if not all(task in arm for arm in (first, second) for task in tasks):
        return {}
    sides = [{task: arm[task] for task in tasks} for arm in (first, second)]
    if not all(len(common_seeds(side)) for side in sides):
        return {}
    cells = compare(sides[0], sides[1], REPLICATES, np.random.default_rng(RUNS_SEED))
    if not all((c.task, _cell(c.split, m)) in cells for c in columns for m in c.metrics):
        return {}
    return {
        c: 100 * np.mean([cells[c.task, _cell(c.split, m)] for m in c.metrics], axis=0)
        for c in columns
    }


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


def constant_labels(data: ReportData, table: Table) -> Iterator[tuple[str, str]]:
    """(task, split) of each column whose examples all have the same class or value."""
    keys = data.results.drop_duplicates("task").set_index("task")["key"]
    for task, split in dict.fromkeys((column.task, column.split) for column in table.columns):
        if task in keys.index:
            rows = data.predictions(str(keys[task]))
            labels = rows[rows["split"] == split]["label"]
            if labels.dtype != object and len(labels) > 1 and labels.nunique() == 1:
                yield task, split


def constant_runs(data: ReportData, table: Table) -> Iterator[tuple[str, str, str]]:
    """(arm, task, seeds) of each run that gives one answer to every example of a split, or one tag
    to every word."""
    splits = {(column.task, column.split) for column in table.columns}
    runs = data.results[["arm", "task", "pretrain_seed", "finetune_seed", "key"]].drop_duplicates()
    for run in runs.itertuples(index=False):
        answers = data.predictions(str(run.key)).groupby("split")["prediction"]
        # `explode` makes entries of the tags of a sentence, and leaves all other answers alone.
        constant = [split for split, found in answers if found.explode().nunique() == 1]
        if any((run.task, split) in splits for split in constant):
            yield str(run.arm), str(run.task), f"{run.pretrain_seed}.{run.finetune_seed}"
