"""The stages of a task: settings are searched, and runs with them scored."""

import json
from typing import Any

import pandas as pd

from harness import tuning
from harness.experiment import Sweep
from harness.stages.bench import Bench, read_examples
from harness.stages.job import Job, Metrics, write_json
from harness.tasks import scoring
from harness.tasks.loading import available_splits
from harness.tasks.scoring import predictions_frame, save_counts, score

TUNING_SEED = 1_000_000
"""Sweeps draw their fine-tuning seeds from here on, apart from the seeds that are reported."""


def tune(job: Job) -> Metrics:
    """Searches hyperparameters on the hold-out of train; leaves best.json and trials.csv."""
    bench = Bench(job)
    sweep = Sweep.model_validate(job.spec["sweep"])

    def objective(params: dict[str, Any], number: int) -> float | None:
        settings = bench.settings.model_copy(update=params)
        return bench.run(settings, TUNING_SEED + number).holdout_score

    trials = tuning.search(
        sweep,
        objective,
        name=job.key,
        storage=job.shared / "optuna.db",
        progress=job.progress,
    )
    best = tuning.best(trials)
    write_json(job.out / "best.json", best.params)
    rows = [{"trial": i, "value": t.value, **t.params} for i, t in enumerate(trials)]
    pd.DataFrame(rows).to_csv(job.out / "trials.csv", index=False)
    diverged = sum(trial.value == tuning.WORST for trial in trials)
    return {"best": best.value, "trials": len(trials), "diverged_trials": diverged}


def finetune(job: Job) -> Metrics:
    """Fine-tunes with the chosen settings and scores the public dev splits; leaves predictions."""
    bench = Bench(job)
    settings = bench.settings
    if "tune" in job.inputs:
        chosen = json.loads((job.inputs["tune"] / "best.json").read_text())
        settings = settings.model_copy(update=chosen)
    done = bench.run(settings, job.spec["seed"], progress=job.progress)
    metrics: Metrics = {
        "train_loss": done.train_loss,
        "diverged": float(done.diverged),
        "holdout": done.holdout_score,
        "truncated": bench.truncated,
        "steps": done.steps,
    }
    frames, counts = [], {}
    for split in available_splits(bench.task, submission=job.spec.get("submission", False)):
        examples = read_examples(bench.task, split, job.spec["fingerprint"])
        predictions = done.predict(examples)
        frames.append(predictions_frame(split.name, examples, predictions))
        if not examples.hidden:
            scores = score(bench.task, examples, predictions)
            metrics |= {f"{split.name}/{name}": value for name, value in scores.items()}
            # An undefined score has no use for counts, which may be huge (a group an example).
            defined = [name for name, value in scores.items() if value is not None]
            counts[split.name] = scoring.counts(bench.task, examples, predictions, defined)
    pd.concat(frames).to_parquet(job.out / "predictions.parquet", index=False)
    save_counts(job.out / "counts.npz", counts)
    write_json(job.out / "settings.json", settings.model_dump())
    return metrics
