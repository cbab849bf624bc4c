"""Problems with hyperparameter searches: unequal numbers of trials, hold-out far above dev."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import selected_trials, trials_frame
from harness.analysis.results import Results
from harness.core.rounding import one_decimal
from harness.finetuning.search.pretrain_search import is_pretrained, is_searched
from harness.finetuning.search.trials import WORST
from harness.models import is_baseline
from harness.plan.search_stages import ALL_TASKS
from harness.report.run_checks import family, planned_runs
from harness.tasks.custom import tasks_of

FAR_ABOVE_DEV = 10.0
"""Points by which a hold-out score may exceed dev without being reported."""


def unequal_trials(results: Results) -> Iterator[str]:
    """A sentence on each task for which the searches of the arms had different numbers of trials;
    arms of a checkpoint have fewer searches."""
    planned, made = results.get(planned_runs), Counter[tuple[str, str]]()
    searches = results.get(trials_frame).groupby(["arm", "task", "pretrain_seed"], sort=False)
    for (arm, task, _), trials in searches:
        place = str(arm), str(task)
        made[place] = max(made[place], len(trials))
    for task in dict.fromkeys(task for _, task in made if task != ALL_TASKS):
        arms = [arm for arm in trained_arms(results) if planned[arm, task]]
        numbers = {arm: made[arm, task] or made[arm, ALL_TASKS] for arm in arms}
        if len({*numbers.values()}) > 1:
            named = ", ".join(f"{arm} {number}" for arm, number in numbers.items())
            yield f"Unequal numbers of trials on {task}: {named}. More trials find better settings."


def searched_once(results: Results) -> Iterator[str]:
    """A sentence on searches whose settings are those of several pretraining seeds."""
    plan, seeds = results.plan, defaultdict[str, set[int]](set)
    for run in plan.finetune_runs:
        if key := plan.stages[run.key].parents.get("tune"):
            seeds[key].add(run.pretrain_seed)
    if max(map(len, seeds.values()), default=0) > 1:
        yield (
            "Fine-tuning settings were searched once for each arm and task, on the network of the "
            "first pretraining seed, so intervals do not contain the noise of that choice "
            "(sweep.seeds: each repeats the search for every seed)."
        )


def untuned(results: Results) -> Iterator[str]:
    """A sentence on the arms without any of the searched hyperparameters."""
    trained = trained_arms(results)
    arms = [arm for arm in results.arms if arm not in trained]
    if arms and len(results.get(trials_frame)):
        yield f"Not tuned, because none of the searched hyperparameters applies: {', '.join(arms)}."


def untuned_pretraining(results: Results) -> Iterator[str]:
    """A sentence on the pretrained arms whose pretraining settings were not searched; none where
    all arms share a run."""
    runs = {arm.name: arm.pretrain for arm in results.plan.arms if is_searched(arm.pretrain)}
    arms = list(runs)
    untuned = [arm for arm in arms if arm not in results.plan.pretrain_searches]
    if untuned and any(run != runs[arms[0]] for run in runs.values()):
        named = "any arm" if untuned == arms else ", ".join(untuned)
        yield (
            f"Learning rate, schedule and batch size of pretraining were not tuned for {named}; "
            "the best ones may differ between arms (sweep.pretrain searches them)."
        )


def unsearched_pretraining(results: Results) -> Iterator[str]:
    """A sentence on the pretrained arms to which the search of pretraining settings does not
    apply."""
    runs = {arm.name: arm.pretrain for arm in results.plan.arms}
    named = [name for name, run in runs.items() if is_pretrained(run) and not is_searched(run)]
    if named and results.plan.pretrain_searches:
        yield (
            "Pretraining settings are not searched for word vectors and for students that learn "
            f"from states of their teacher alone, and so not for {', '.join(named)}."
        )


def selected_by_reported_losses(results: Results) -> Iterator[str]:
    """A sentence on held-out losses of the text by which pretraining settings were selected."""
    if not results.plan.pretrain_searches:
        return
    if results.experiment.seeds.in_worlds:
        world = results.experiment.seeds.pretrain[0]
        yield (
            "Pretraining settings were selected by their loss on the held-out text of world "
            f"{world}. The reported loss of seed {world} is of another network, but on the same "
            "text, so it is slightly optimistic; losses in other worlds, and scores of tasks, are "
            "not."
        )
    else:
        yield (
            "Pretraining settings were selected by their loss on the held-out text. The reported "
            "losses are those of other seeds, but on the same text, so they are slightly "
            "optimistic; scores of tasks are not."
        )


def trained_arms(results: Results) -> list[str]:
    """The arms that are fine-tuned: neither baselines nor only prompted."""
    prompted = results.plan.differences.get("evaluate.adaptation.kind", {})
    return [
        arm
        for arm in results.arms
        if prompted.get(arm) != "prompt" and not is_baseline(family(results, arm) or "")
    ]


def holdout_beside_dev(results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """(arm, task) to the main metric x 100 of the selected trial on the hold-out, mean over the
    searches, and its mean over the arm's runs on dev; only if both are known, and the search is of
    one task."""
    tasks = tasks_of(results.suite)
    dev = results.get(scores_frame).groupby(["arm", "task", "split", "metric"])["value"].mean()
    found = {}
    selected = selected_trials(results).groupby(["arm", "task"], sort=False)["value"]
    for (arm, name), best in selected:
        if name == ALL_TASKS:
            continue
        task = tasks[str(name)]
        place = (arm, name, task.evaluation[0].name, task.metrics[0])
        both = 100 * float(best.mean()), 100 * float(dev.get(place, np.nan))
        if best.min() > WORST and np.isfinite(both).all():
            found[str(arm), str(name)] = both
    return found


def far_above_dev(beside: Mapping[tuple[str, str], tuple[float, float]]) -> Iterator[str]:
    """A sentence on searches whose hold-out score is far above dev.

    Args:
        beside: result of `holdout_beside_dev`.
    """
    named = [
        f"{arm} on {task} ({one_decimal(holdout)} against {one_decimal(dev)})"
        for (arm, task), (holdout, dev) in beside.items()
        if holdout - dev > FAR_ABOVE_DEV
    ]
    if named:
        yield (
            "Selected trials score more than "
            f"{FAR_ABOVE_DEV:g} points higher on the hold-out of train than the same arm's runs on "
            f"dev: {', '.join(named)}. All scores of the search are on the hold-out. It may share "
            "texts with train, which evaluate.protocol.holdout_groups: texts holds out together."
        )
