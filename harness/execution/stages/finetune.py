"""The stage that fine-tunes with the selected settings and scores the run."""

import json
from dataclasses import replace

import pandas as pd

from harness.execution.stages.context import Metrics, StageContext, write_json
from harness.execution.stages.search import with_settings
from harness.execution.stages.task_runner import TaskRunner, read_examples
from harness.finetuning.adapted_weights import save_adapted
from harness.finetuning.diagnostics import DIAGNOSTICS_FILE
from harness.tasks import scores
from harness.tasks.load_examples import available_splits


def finetune(context: StageContext) -> Metrics:
    """Fine-tunes with the selected settings and scores the dev splits; writes predictions, counts
    and settings."""
    if "tune" in context.inputs:
        selected = json.loads((context.inputs["tune"] / "best.json").read_text())
        context = replace(context, spec=with_settings(context.spec, selected))
    spec, runner = context.spec, TaskRunner(context)
    run = runner.run(spec["seed"], progress=context.progress)
    metrics: Metrics = {
        "train_loss": run.train_loss,
        "diverged": float(run.diverged),
        "holdout": run.holdout_score,
        "truncated": runner.truncated,
        "steps": run.steps,
    }
    if run.costs:
        metrics |= run.costs.metrics
    if spec.get("save_weights") and run.model:
        save_adapted(run.model, runner.adaptation, context.out / "weights")
    frames, counts = [], {}
    for split in available_splits(runner.task, with_test=spec.get("predict_test", False)):
        examples = read_examples(runner.task, split, spec["fingerprint"])
        predictions = run.predict(examples)
        frames.append(scores.predictions_frame(split.name, examples, predictions))
        if not examples.hidden:
            found = scores.score(runner.task, examples, predictions)
            metrics |= {f"{split.name}/{name}": value for name, value in found.items()}
            # Undefined scores need no counts, which may be large (one group per example).
            defined = [name for name, value in found.items() if value is not None]
            counts[split.name] = scores.counts(runner.task, examples, predictions, defined)
    pd.concat(frames).to_parquet(context.out / "predictions.parquet", index=False)
    scores.save_counts(context.out / "counts.npz", counts)
    if run.diagnostics is not None:
        run.diagnostics.to_parquet(context.out / DIAGNOSTICS_FILE, index=False)
    settings = {**runner.settings.model_dump(), "adaptation": runner.adaptation.content}
    write_json(context.out / "settings.json", settings)
    return metrics
