"""What is wrong with searches of settings: trials that are not equal, a hold-out unlike dev."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.finetuning.search import optuna_search
from harness.leaderboard.measured_rows import is_baseline
from harness.report.run_checks import family, planned
from harness.report.sections.search import chosen_trials
from harness.tasks.custom import tasks_of

FAR_ABOVE_DEV = 10.0
"""Points by which a hold-out score may lie above dev without a word."""


def unequal_trials(results: Results) -> Iterator[str]:
    """Arms that were given other numbers of trials on a task, or none."""
    for task, trials in results.get(trials_frame).groupby("task", sort=False):
        made = Counter(trials["arm"])
        arms = [
            arm for arm in results.arms if planned(results, arm, str(task)) and _tuned(results, arm)
        ]
        if len({made[arm] for arm in arms}) > 1:
            named = ", ".join(f"{arm} {made[arm]}" for arm in arms)
            yield f"Unequal trials on {task}: {named}. More trials find better settings."


def untuned(results: Results) -> Iterator[str]:
    """Arms beside those that were searched which have nothing to search."""
    arms = [arm for arm in results.arms if not _tuned(results, arm)]
    if arms and len(results.get(trials_frame)):
        yield f"Not tuned, for none of the settings searched holds for them: {', '.join(arms)}."


def _tuned(results: Results, arm: str) -> bool:
    """Whether settings of fine-tuning are anything to it: not to baselines and prompted models."""
    prompted = results.plan.differences.get("evaluate.adaptation.kind", {}).get(arm) == "prompt"
    return not (prompted or is_baseline(family(results, arm) or ""))


def holdout_beside_dev(results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """(arm, task) to the main score x 100 of the chosen trial on its hold-out, and to the mean of
    the arm's runs on dev; where both are known."""
    tasks = tasks_of(results.suite)
    dev = results.get(scores_frame).groupby(["arm", "task", "split", "metric"])["value"].mean()
    found = {}
    for arm, task, _, best in chosen_trials(results):
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
