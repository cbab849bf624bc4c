"""The stages that search fine-tuning settings, on a hold-out of train."""

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from harness.execution.stages.job import Job, Metrics, write_json
from harness.execution.stages.task_runner import Bench
from harness.finetuning.adaptation import read_adaptation
from harness.finetuning.search import optuna_search
from harness.finetuning.search.optuna_search import Report, State, Trial
from harness.finetuning.search.spaces import OF_THE_ADAPTATION
from harness.finetuning.search.sweep import Sweep
from harness.plan.search_stages import trial_role

TUNING_SEED = 1_000_000
"""Sweeps draw their fine-tuning seeds from here on, apart from the seeds that are reported."""


def trial(job: Job) -> Metrics:
    """Tries one point that heeds no other; leaves trial.json."""
    number = job.spec["trial"]
    sweep = Sweep.model_validate({**job.spec["sweep"], "trials": number + 1})
    found = _attempt(job, optuna_search.point(sweep, number), number, progress=job.progress)
    write_json(job.out / "trial.json", dataclasses.asdict(found))
    return {"value": found.value, "epochs": found.epochs}


def tune(job: Job) -> Metrics:
    """Gathers the trials, or makes them where each depends on those before it; leaves best.json and
    trials.csv."""
    sweep = Sweep.model_validate(job.spec["sweep"])
    trials = _study(job, sweep) if sweep.sampler == "tpe" else _gathered(job, sweep.size)
    best = optuna_search.best(trials)
    write_json(job.out / "best.json", dict(best.params))
    pd.DataFrame([_row(one) for one in trials]).to_csv(job.out / "trials.csv", index=False)
    states = [one.state for one in trials]
    return {
        "best": best.value,
        "trials": len(trials),
        "diverged_trials": states.count("diverged"),
        "pruned_trials": states.count("pruned"),
    }


def with_settings(spec: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a stage with the chosen hyperparameters in place of what it says of them."""
    finetune = dict(spec["finetune"])
    adaptation = read_adaptation(spec["adaptation"]).model_dump()
    for name, value in chosen.items():
        field = name.removeprefix(OF_THE_ADAPTATION)
        (finetune if field == name else adaptation)[field] = value
    return {**spec, "finetune": finetune, "adaptation": adaptation}


def _study(job: Job, sweep: Sweep) -> list[Trial]:
    def objective(params: dict[str, Any], number: int, report: Report) -> Trial:
        return _attempt(job, params, number, report if sweep.pruner else None)

    return optuna_search.search(
        sweep,
        objective,
        name=job.spec["study"],
        storage=job.shared / "optuna.db",
        progress=job.progress,
    )


def _gathered(job: Job, size: int) -> list[Trial]:
    files = [job.inputs[trial_role(number)] / "trial.json" for number in range(size)]
    return [Trial(**json.loads(file.read_text())) for file in files]


def _attempt(
    job: Job,
    params: Mapping[str, Any],
    number: int,
    report: Report | None = None,
    progress: Callable[..., None] = lambda *_: None,
) -> Trial:
    """One fine-tuning run, scored on the hold-out; with a report after each epoch, if there is one
    to tell."""
    bench = Bench(dataclasses.replace(job, spec=with_settings(job.spec, params)))
    begin = time.perf_counter()
    scores: list[float] = []

    def after_epoch(epoch: int, score: float | None) -> None:
        scores.append(_value(score))
        report and report(epoch, score)

    def found(value: float, state: State, epochs: int) -> Trial:
        return Trial(number, value, state, time.perf_counter() - begin, epochs, params)

    seed = TUNING_SEED + number
    try:
        run = bench.run(bench.settings, seed, progress, after_epoch if report else None)
    except optuna_search.Pruned:
        return found(scores[-1], "pruned", len(scores))
    value = _value(run.holdout_score)
    state: State = "complete" if value > optuna_search.WORST else "undefined"
    return found(value, "diverged" if run.diverged else state, bench.settings.epochs)


def _value(score: float | None) -> float:
    return optuna_search.WORST if score is None or not math.isfinite(score) else score


def _row(one: Trial) -> dict[str, Any]:
    """The epoch `reached` stands apart from a hyperparameter `epochs`."""
    of_it = {"value": one.value, "state": one.state, "seconds": one.seconds, "reached": one.epochs}
    return {"trial": one.number, **of_it, **one.params}
