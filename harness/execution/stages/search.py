"""Stages that search fine-tuning settings on a hold-out of the train set."""

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from harness.execution.stages.context import Metrics, StageContext, write_json
from harness.execution.stages.task_runner import TaskRunner
from harness.execution.stages.tasks_runner import TasksRunner
from harness.finetuning.adaptation import read_adaptation
from harness.finetuning.search import optuna_search
from harness.finetuning.search.optuna_search import Report
from harness.finetuning.search.space import ADAPTATION, most_epochs
from harness.finetuning.search.sweep import MAX_TRIALS, Sweep
from harness.finetuning.search.trials import WORST, State, Trial
from harness.finetuning.search.trials import best as best_of
from harness.plan.search_stages import trial_role

TUNING_SEED = 1_000_000
"""First fine-tuning seed of trials, far from those of reported runs."""


def trial(context: StageContext) -> Metrics:
    """Runs one trial of an independent sampler; writes trial.json."""
    number = context.spec["trial"]
    sweep = Sweep.model_validate({**context.spec["sweep"], "trials": number + 1})
    point = optuna_search.point(sweep, number, context.spec.get("repeat", 0))
    found = _run_trial(context, point, number, progress=context.progress)
    write_json(context.out / "trial.json", dataclasses.asdict(found))
    return {"value": found.value, "epochs": found.epochs}


def tune(context: StageContext) -> Metrics:
    """Collects the trials, or runs them if each depends on earlier ones (`tpe`); writes best.json,
    trials.csv and trials.json."""
    sweep = Sweep.model_validate(context.spec["sweep"])
    dependent = sweep.sampler == "tpe"
    trials = _run_study(context, sweep) if dependent else _collect(context, sweep.size)
    best = best_of(trials)
    write_json(context.out / "best.json", dict(best.params))
    pd.DataFrame([_row(one) for one in trials]).to_csv(context.out / "trials.csv", index=False)
    write_json(context.out / "trials.json", [dataclasses.asdict(one) for one in trials])
    states = [one.state for one in trials]
    return {
        "best": best.value,
        "trials": len(trials),
        "diverged_trials": states.count("diverged"),
        "pruned_trials": states.count("pruned"),
    }


def tuned_spec(spec: Mapping[str, Any], inputs: Mapping[str, Path]) -> Mapping[str, Any]:
    """The spec of a fine-tuning stage, with the hyperparameters that its search selected if any."""
    if "tune" not in inputs:
        return spec
    return with_settings(spec, json.loads((inputs["tune"] / "best.json").read_text()))


def with_settings(spec: Mapping[str, Any], selected: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a fine-tuning stage with the selected hyperparameters."""
    finetune = dict(spec["finetune"])
    given = selected.get(ADAPTATION, spec.get("adaptation", "full"))  # none with several tasks
    adaptation = read_adaptation(given).model_dump()
    for name, value in selected.items():
        prefix, _, field = name.rpartition(".")
        if prefix and field in adaptation:
            adaptation[field] = value
        elif name != ADAPTATION:
            finetune[field] = value
    return {**spec, "finetune": finetune, "adaptation": adaptation}


def tpe_storage(shared: Path) -> Path:
    """SQLite file of the trials that depend on earlier ones."""
    return shared / "work" / "tpe.db"


def _run_study(context: StageContext, sweep: Sweep) -> list[Trial]:
    def objective(params: dict[str, Any], number: int, report: Report) -> Trial:
        loggers = partial(context.loggers, f"trial_{number}/")
        own = dataclasses.replace(context, loggers=loggers)
        return _run_trial(own, params, number, report if sweep.pruner else None)

    return optuna_search.search(
        sweep,
        objective,
        name=context.spec["study"],
        storage=tpe_storage(context.shared),
        max_epochs=most_epochs(sweep.space, context.spec["finetune"]["epochs"]),
        progress=context.progress,
    )


def _collect(context: StageContext, size: int) -> list[Trial]:
    files = [context.inputs[trial_role(number)] / "trial.json" for number in range(size)]
    return [Trial(**json.loads(file.read_text())) for file in files]


def _run_trial(
    context: StageContext,
    params: Mapping[str, Any],
    number: int,
    report: Report | None = None,
    progress: Callable[..., None] = lambda *_: None,
) -> Trial:
    """One fine-tuning run, on one task or several, scored on the hold-out; `report` is called after
    each epoch and may prune the trial."""
    own = dataclasses.replace(context, spec=with_settings(context.spec, params))
    runner = TasksRunner(own) if "tasks" in own.spec else TaskRunner(own)
    begin = time.perf_counter()
    scores: list[float] = []

    def after_epoch(epoch: int, score: float | None) -> None:
        scores.append(_value(score))
        report and report(epoch, score)

    def ended(value: float, state: State, epochs: int) -> Trial:
        return Trial(number, value, state, time.perf_counter() - begin, epochs, params)

    seed = TUNING_SEED + MAX_TRIALS * context.spec.get("repeat", 0) + number
    try:
        run = runner.run(seed, progress, after_epoch if report else None)
    except optuna_search.Pruned:
        return ended(scores[-1], "pruned", len(scores))
    value = _value(run.holdout_score)
    state: State = "complete" if value > WORST else "undefined"
    return ended(value, "diverged" if run.diverged else state, runner.settings.epochs)


def _value(score: float | None) -> float:
    return WORST if score is None or not math.isfinite(score) else score


def _row(one: Trial) -> dict[str, Any]:
    """A row of trials.csv; `epochs_run` may be less than the hyperparameter `epochs`."""
    fixed = {
        "trial": one.number,
        "value": one.value,
        "state": one.state,
        "seconds": one.seconds,
        "epochs_run": one.epochs,
    }
    return {**fixed, **one.params}
