"""The stages that fine-tune: on other tasks first, and with the selected settings on a task, with
scores."""

import math
from dataclasses import replace

import pandas as pd

from harness.execution.stages.context import Metrics, StageContext, write_json
from harness.execution.stages.ensembles import ensemble
from harness.execution.stages.planned_data import read_examples
from harness.execution.stages.search import tuned_spec
from harness.execution.stages.task_runner import SETTINGS, TaskRunner, head_file
from harness.execution.stages.tasks_runner import TasksRunner
from harness.execution.stages.teaching import save_outputs
from harness.finetuning.adapted_weights import save_adapted
from harness.finetuning.diagnostics import DIAGNOSTICS_FILE
from harness.finetuning.multitask import save_head
from harness.finetuning.teacher_layers import save_network
from harness.tasks import scores
from harness.tasks.load_examples import available_splits
from harness.tasks.perturbation import Perturbation, perturbed


def train_tasks(context: StageContext) -> Metrics:
    """Trains one network on the tasks of the spec, with the selected settings; writes `model/`, a
    head per task, and tasks.json with the share of batches, updates and final loss per task."""
    spec = tuned_spec(context.spec, context.inputs)
    runner = TasksRunner(replace(context, spec=spec))
    first = runner.runners[0]
    each_epoch = first.epoch_scores if runner.settings.holdout_decay else None
    run = runner.train(spec["seed"], context.progress, each_epoch)
    run.model.backbone.save(context.out / "model")
    figures = {}
    for index, name in enumerate(runner.names):
        loss = run.losses[index]
        save_head(run.model.part(index), head_file(context.out, name))
        figures[name] = {
            "share": run.shares[index],
            "steps": run.steps[index],
            "train_loss": loss if math.isfinite(loss) else None,
        }
    write_json(context.out / "tasks.json", figures)
    return {
        "steps": sum(run.steps),
        "diverged": float(run.diverged),
        "truncated": max(task.train.truncated for task in runner.training_data),
    }


def finetune(context: StageContext) -> Metrics:
    """Fine-tunes with the selected settings and scores the dev splits; writes predictions, counts
    and settings."""
    context = replace(context, spec=tuned_spec(context.spec, context.inputs))
    spec, runner = context.spec, TaskRunner(context)
    if "ensemble" in spec:
        run = ensemble(runner)
    else:
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
    if spec.get("teaches") and run.model:
        save_outputs(runner, run.model, context.out)
    if spec.get("teaches_layers") and run.model:
        save_network(run.model.backbone, runner.head.tokenizer, context.out)
    frames, counts = [], {}
    noise = Perturbation.model_validate(spec.get("perturb") or {})
    for split in available_splits(runner.task, with_test=spec.get("predict_test", False)):
        examples = perturbed(read_examples(runner.task, split, spec["fingerprint"]), noise)
        predictions = run.predict(examples)
        frames.append(scores.predictions_frame(split.name, examples, predictions))
        if not examples.hidden:
            found = scores.score(runner.task, examples, predictions)
            metrics |= {f"{split.name}/{name}": value for name, value in found.items()}
            # Undefined scores need no counts, which may be large (one group per example).
            defined = [name for name, value in found.items() if value is not None]
            counts[split.name] = scores.counts(runner.task, examples, predictions, defined)
    pd.concat(frames).to_parquet(context.out / scores.PREDICTIONS, index=False)
    scores.save_counts(context.out / scores.COUNTS, counts)
    if run.diagnostics is not None:
        run.diagnostics.to_parquet(context.out / DIAGNOSTICS_FILE, index=False)
    settings = {**runner.settings.model_dump(), "adaptation": runner.adaptation.content}
    write_json(context.out / SETTINGS, settings)
    return metrics
