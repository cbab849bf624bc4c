"""The runs of all arms, scored on resampled examples."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.columns import SuiteColumns
from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores, cluster_sums
from harness.tasks.metrics import METRICS
from harness.tasks.scores import GROUPS, LABELS
from harness.tasks.task import Column

REPLICATES = 1000
EXAMPLES_SEED = 1

Counts = Callable[[str], Mapping[str, np.ndarray]]

ArmRuns = Mapping[str, Runs]
"""Task to the runs of an arm."""


def arm_runs(
    arms: Sequence[str],
    scores: pd.DataFrame,
    counts: Counts,
    columns: SuiteColumns,
    examples_by_seed: bool = False,
) -> dict[str, dict[str, Runs]]:
    """The runs of all arms, scored on the same resamples of the examples.

    Args:
        scores: result of `harness.analysis.frames.scores.scores_frame`.
        counts: key of a fine-tuning stage to its counts (`harness.analysis.results.stage_counts`).
        examples_by_seed: whether only runs with equal pretraining seeds share their examples.

    Returns:
        Arm to task to runs; arms that share all runs of a task have the same object.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    runs: dict[str, dict[str, Runs]] = {arm: {} for arm in arms}
    for number, task in enumerate(columns.suite.tasks):
        own = [column for column in columns.columns if column.task == task]
        rows_of_task = scores[scores["task"] == task]
        index = _complete_runs(rows_of_task[rows_of_task["arm"].isin(list(arms))], own)
        if index.empty:
            continue
        splits = rows_of_task["split"].unique()
        groups = index["pretrain_seed"] if examples_by_seed else index["pretrain_seed"] * 0
        here = [c for c in own if c.split in splits]
        resampled = _task_scores(counts, here, index, groups.to_numpy(), number)
        made: dict[tuple[str, ...], Runs] = {}
        for arm, rows in index.groupby("arm", sort=False):
            found = Runs(
                pretrain_seeds=rows["pretrain_seed"].to_numpy(),
                finetune_seeds=rows["finetune_seed"].to_numpy(),
                scores={cell: values[:, rows.index] for cell, values in resampled.items()},
            )
            runs[str(arm)][task] = made.setdefault(tuple(rows["key"]), found)
    return runs


def _complete_runs(here: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """The runs of a task (arm, seeds, key) of the arms whose runs have all scores of its columns,
    given the scores `here`. One undefined score excludes its arm, as it leaves the arm's cell
    empty. A split on which no arm was scored (it is not in the mirror) is ignored."""
    cells = {(c.split, m) for c in columns for m in c.metrics}
    cells &= set(zip(here["split"], here["metric"], strict=True))
    wanted = [cell in cells for cell in zip(here["split"], here["metric"], strict=True)]
    identity = ["arm", "pretrain_seed", "finetune_seed", "key"]
    groups = here[np.array(wanted, dtype=bool)].groupby(identity)
    counts = groups["value"].count().rename("cells").reset_index()
    least = counts.groupby("arm")["cells"].transform("min")
    return counts[least == len(cells)].reset_index(drop=True) if cells else counts.iloc[:0]


def _task_scores(
    counts: Counts,
    columns: Sequence[Column],
    index: pd.DataFrame,
    groups: np.ndarray,
    number: int,
) -> dict[str, np.ndarray]:
    """`split/metric` to [1 + REPLICATES, runs], in the order of `index`."""
    found_counts = {key: counts(key) for key in dict.fromkeys(index["key"])}
    wanted: dict[str, list[str]] = {}
    for column in columns:
        wanted.setdefault(column.split, []).extend(column.metrics)
    scores = {}
    for place, (split, metrics) in enumerate(wanted.items()):
        generator = np.random.default_rng([EXAMPLES_SEED, number, place])
        keys, distinct = list(index["key"]), list(dict.fromkeys(metrics))
        found = bootstrap_scores(
            stack_counts(found_counts, keys, split, distinct, groups),
            {metric: METRICS[metric].from_counts for metric in metrics},
            REPLICATES,
            generator,
        )
        scores.update({cell_name(split, metric): values for metric, values in found.items()})
    return scores


def stack_counts(
    counts: Mapping[str, Mapping[str, np.ndarray]],
    keys: Sequence[str],
    split: str,
    metrics: Sequence[str],
    groups: Sequence[int] | np.ndarray,
) -> dict[str, np.ndarray]:
    """Metric to the counts [num_runs, num_units, k] of one split, of the runs in `keys`. Units are
    examples; where examples have groups, these. Runs with fewer units than others have empty ones.

    Args:
        groups: [num_runs] number of the group of runs that share their examples.

    Raises:
        ValueError: the runs of a group were not scored on the same examples.
    """
    labels, first = cell_name(split, LABELS), dict[int, str]()
    for key, group in zip(keys, groups, strict=True):
        first.setdefault(group, key)
        if not np.array_equal(counts[key][labels], counts[first[group]][labels]):
            raise ValueError(
                f"runs must be scored on the same examples, but {first[group]} and {key} differ "
                f"on {split}"
            )
    return {
        metric: _stacked([_unit_counts(counts[key], split, metric) for key in keys])
        for metric in metrics
    }


def _stacked(counts: Sequence[np.ndarray]) -> np.ndarray:
    """[num_runs, num_units, k], with zeros after the units of runs that have fewer."""
    most = max(map(len, counts))
    return np.stack([np.pad(own, ((0, most - len(own)), (0, 0))) for own in counts])


def _unit_counts(counts: Mapping[str, np.ndarray], split: str, metric: str) -> np.ndarray:
    """[num_units, k]; metrics of groups have units of their own."""
    found, groups = counts[cell_name(split, metric)], counts.get(cell_name(split, GROUPS))
    if groups is None or METRICS[metric].grouped:
        return found
    return cluster_sums(found, groups)


def cell_name(split: str, metric: str) -> str:
    """Key of a metric on a split in `Runs.scores`."""
    return f"{split}/{metric}"
