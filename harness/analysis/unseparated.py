"""Columns of a plan that separated no arms in earlier experiments."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.analysis.columns import suite_columns
from harness.analysis.seed_scores import distinct_runs, scores_of_arms, seed_scores
from harness.analysis.statistics.bootstrap import Array
from harness.analysis.statistics.signal import ROUNDING, analysis_of_variance
from harness.core.counting import number_of
from harness.models import is_baseline
from harness.plan.plan import Plan
from harness.store.recorded import RecordedExperiment, recorded_experiments, scores_of
from harness.store.store import Store
from harness.tasks import TASKS
from harness.tasks.task import Column

LEVEL = 0.05
MIN_SEEDS = 2
"""Pretraining seeds below which an arm is left out of a column."""


def unseparated(plan: Plan, store: Store | None) -> list[str]:
    """A warning on each column of a plan that separated no arms in the other experiments of a
    store. Reads scores alone."""
    if store is None or not store.experiments():
        return []
    experiment = plan.experiment
    suite = experiment.evaluate.suite_value
    columns = suite_columns(suite, tasks=experiment.evaluate.tasks).columns
    earlier = [one for one in recorded_experiments(store) if one.name != experiment.name]
    return list(unseparated_columns(suite.name, columns, earlier))


def unseparated_columns(
    suite: str, columns: Sequence[Column], earlier: Sequence[RecordedExperiment]
) -> Iterator[str]:
    """A line on each column in which no earlier experiment has p < 0.05 in a one-way analysis of
    variance. Experiments count with two arms or more that have two pretraining seeds or more;
    baselines do not count, nor experiments with dependent runs, whose arms that analysis takes for
    independent. Without such an experiment nothing is known, and nothing is said.

    Args:
        suite: name of the suite that is planned.
        columns: those that are planned.
        earlier: finished experiments, of any suites.
    """
    scores = _scores(suite, {column.task for column in columns}, earlier)
    for column in columns if len(scores) else ():
        compared = _experiments(scores, column)
        known = [p for arms in compared if (p := separation(arms)) is not None]
        if compared and all(p >= LEVEL for p in known):
            yield _line(column.name, len(compared), min(known, default=None))


def separation(arms: Sequence[Array]) -> float | None:
    """p of an analysis of variance; null if all scores are equal, 0 if only arms differ.

    Args:
        arms: [num_seeds] scores x 100 of each arm.
    """
    if any(one.max() - one.min() > ROUNDING for one in arms):
        return analysis_of_variance(arms)
    means = [float(one.mean()) for one in arms]
    return 0.0 if max(means) - min(means) > ROUNDING else None


def _scores(suite: str, tasks: set[str], earlier: Sequence[RecordedExperiment]) -> pd.DataFrame:
    """The scores of some tasks, without those of baselines. Tasks that are not shipped may be
    others in another suite, so that they are taken from `suite` alone."""
    scores = scores_of(earlier)
    same = scores["task"].isin(tasks & TASKS.keys()) | (scores["suite"] == suite)
    scores = scores[same & scores["task"].isin(tasks)]
    known = set(scores["experiment"])
    names = {one.name for one in earlier if one.name in known and not _has_dependent_runs(one.spec)}
    scores = scores[scores["experiment"].isin(names)]
    baselines = {
        (one.name, arm)
        for one in earlier
        if one.name in names
        for arm, fields in one.spec["arms"].items()
        if is_baseline(fields["pretrain"]["model"]["family"])
    }
    if baselines:
        arms = zip(scores["experiment"], scores["arm"], strict=True)
        scores = scores[[arm not in baselines for arm in arms]]
    return distinct_runs(scores, ["experiment"])


def _has_dependent_runs(spec: Mapping[str, Any]) -> bool:
    """Whether arms have the same checkpoints, or all arms of a seed the same micro-world."""
    if (spec.get("experiment", {}).get("seeds") or {}).get("world") == "per_seed":
        return True
    runs = [json.dumps(arm["pretrain"], sort_keys=True) for arm in spec["arms"].values()]
    return len(set(runs)) < len(runs)


def _experiments(scores: pd.DataFrame, column: Column) -> list[list[Array]]:
    """[num_seeds] scores of each arm of each experiment that compares two arms or more."""
    arms = scores_of_arms(seed_scores(scores, column, ["experiment", "arm"]), MIN_SEEDS)
    found: dict[str, list[Array]] = {}
    for (experiment, _), own in arms.items():
        found.setdefault(experiment, []).append(own)
    return [compared for compared in found.values() if len(compared) > 1]


def _line(column: str, number: int, smallest: float | None) -> str:
    """The warning on a column.

    Args:
        number: of experiments.
        smallest: their smallest p; null if none has any, as all scores are equal.
    """
    several = number_of(number, "earlier experiment")
    if smallest is None:
        why = "all seeds of all arms have equal scores"
    else:
        least = "at least " if number > 1 else ""
        why = f"p of an analysis of variance {least}{smallest:.2f}"
    return (
        f"{column} separated no arms in {several} of this store ({why}); more seeds or a larger "
        "budget may be needed"
    )
