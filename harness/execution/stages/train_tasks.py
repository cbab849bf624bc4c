"""The stage of intermediate and multitask training."""

import math
from dataclasses import replace

from harness.execution.stages.context import Metrics, StageContext, write_json
from harness.execution.stages.task_runner import HEADS, TaskRunner
from harness.finetuning.multitask import save_head
from harness.finetuning.run import finetune
from harness.finetuning.task_chain import Multitask


def train_tasks(context: StageContext) -> Metrics:
    """Trains one network on the tasks of the spec; writes `model/`, a head per task, and tasks.json
    with the share of batches, updates and final loss per task."""
    specs = [{**context.spec, **task, "adaptation": "full"} for task in context.spec["tasks"]]
    runners = [TaskRunner(replace(context, spec=spec)) for spec in specs]
    tasks = [runner.training_data for runner in runners]
    run = finetune(
        runners[0].model,
        tasks,
        runners[0].settings,
        mixing=Multitask.model_validate(context.spec["mixing"] or {}),
        seed=context.spec["seed"],
        progress=context.progress,
        compute=context.compute,
    )
    run.model.backbone.save(context.out / "model")
    figures = {}
    for index, runner in enumerate(runners):
        name, loss = runner.task.name, run.losses[index]
        save_head(run.model.part(index), context.out / HEADS / f"{name}.safetensors")
        figures[name] = {
            "share": run.shares[index],
            "steps": run.steps[index],
            "train_loss": loss if math.isfinite(loss) else None,
        }
    write_json(context.out / "tasks.json", figures)
    return {
        "steps": sum(run.steps),
        "diverged": float(run.diverged),
        "truncated": max(task.train.truncated for task in tasks),
    }
