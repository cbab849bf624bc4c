"""What is wrong with searches of settings: trials that are not equal, a hold-out unlike dev."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from harness.finetuning.search import optuna_search
from harness.models import FAMILIES
from harness.report.data import ReportData
from harness.report.run_checks import family, planned
from harness.report.sections.search import chosen_trials
from harness.tasks.custom import suite_named, tasks_of

FAR_ABOVE_DEV = 10.0
"""Points by which a hold-out score may lie above dev without a word."""


def unequal_trials(data: ReportData) -> Iterator[str]:
    """Arms that were given other numbers of trials on a task, or none."""
    for task, trials in data.trials.groupby("task", sort=False):
        made = Counter(trials["arm"])
        arms = [arm for arm in data.arms if planned(data, arm, str(task)) and _tuned(data, arm)]
        if len({made[arm] for arm in arms}) > 1:
            named = ", ".join(f"{arm} {made[arm]}" for arm in arms)
            yield f"Unequal trials on {task}: {named}. More trials find better settings."


def untuned(data: ReportData) -> Iterator[str]:
    """Arms beside those that were searched which have nothing to search."""
    arms = [arm for arm in data.arms if not _tuned(data, arm)]
    if arms and len(data.trials):
        yield f"Not tuned, for none of the settings searched holds for them: {', '.join(arms)}."


def _tuned(data: ReportData, arm: str) -> bool:
    """Whether settings of fine-tuning are anything to it: not to baselines and prompted models."""
    facts = FAMILIES.get(family(data, arm) or "")
    prompted = data.differences.get("evaluate.adaptation.kind", {}).get(arm) == "prompt"
    return not (prompted or (facts and facts.kind == "baseline"))


def holdout_beside_dev(data: ReportData) -> dict[tuple[str, str], tuple[float, float]]:
    """(arm, task) to the main score x 100 of the chosen trial on its hold-out, and to the mean of
    the arm's runs on dev; where both are known."""
    suite = suite_named(data.suite) if isinstance(data.suite, str) else data.suite
    tasks = tasks_of(suite)
    dev = data.results.groupby(["arm", "task", "split", "metric"])["value"].mean()
    found = {}
    for arm, task, _, best in chosen_trials(data):
        place = (arm, task, tasks[task].evaluation[0].name, tasks[task].metrics[0])
        both = 100 * float(best["value"]), 100 * float(dev.get(place, np.nan))
        if best["value"] > optuna_search.WORST and np.isfinite(both).all():
            found[arm, task] = both
    return found


def far_above_dev(beside: Mapping[tuple[str, str], tuple[float, float]]) -> Iterator[str]:
    """Searches whose hold-out scores far better than dev."""
    named = [
        f"{arm} on {task} ({holdout:.1f} against {dev:.1f})"
        for (arm, task), (holdout, dev) in beside.items()
        if holdout - dev > FAR_ABOVE_DEV
    ]
    if named:
        yield (
            "Settings were chosen by scores on a hold-out of train that lie more than "
            f"{FAR_ABOVE_DEV:g} points above the mean of the same arm's runs on dev: "
            f"{', '.join(named)}. All that is shown of the search is of the hold-out."
        )
