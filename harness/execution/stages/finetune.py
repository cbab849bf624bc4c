"""The stage of a task: a run with the chosen settings is scored."""

import json
from dataclasses import replace

import pandas as pd

from harness.execution.stages.job import Job, Metrics, write_json
from harness.execution.stages.search import with_settings
from harness.execution.stages.task_runner import Bench, read_examples
from harness.finetuning.adapted_weights import save_adapted
from harness.finetuning.diagnostics import RECORD_FILE
from harness.tasks import scores as scoring
from harness.tasks.load_examples import available_splits
from harness.tasks.scores import predictions_frame, save_counts, score


def finetune(job: Job) -> Metrics:
    """Fine-tunes with the chosen settings and scores the public dev splits; leaves predictions."""
    if "tune" in job.inputs:
        chosen = json.loads((job.inputs["tune"] / "best.json").read_text())
        job = replace(job, spec=with_settings(job.spec, chosen))
    bench = Bench(job)
    settings = bench.settings
    done = bench.run(settings, job.spec["seed"], progress=job.progress)
    metrics: Metrics = {
        "train_loss": done.train_loss,
        "diverged": float(done.diverged),
        "holdout": done.holdout_score,
        "truncated": bench.truncated,
        "steps": done.steps,
    }
    if done.costs:
        metrics |= done.costs.metrics
    if job.spec.get("keep") and done.model:
        save_adapted(done.model, bench.adaptation, job.out / "weights")
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
    if done.records is not None:
        done.records.to_parquet(job.out / RECORD_FILE, index=False)
    chosen = {**settings.model_dump(), "adaptation": bench.adaptation.content}
    write_json(job.out / "settings.json", chosen)
    return metrics
