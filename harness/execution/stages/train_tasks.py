"""The stage of tasks that others build on: a network is trained whole on one or several."""

import math
from dataclasses import replace

from harness.execution.stages.job import Job, Metrics, write_json
from harness.execution.stages.task_runner import HEADS, Bench
from harness.finetuning.joint_model import Lesson, save_head
from harness.finetuning.multitask import learn as learn_tasks
from harness.finetuning.task_chain import Multitask


def learn(job: Job) -> Metrics:
    """Trains on the tasks of the spec; leaves `model/`, a head for each task, and tasks.json with
    the share of the batches, the updates and the last loss of each."""
    benches = [Bench(replace(job, spec=_spec_of(job, task))) for task in job.spec["tasks"]]
    lessons = [
        Lesson(bench.task.name, bench.form, bench.encode(bench.train_examples)) for bench in benches
    ]
    done = learn_tasks(
        benches[0].model,
        lessons,
        benches[0].settings,
        Multitask.model_validate(job.spec["mixing"] or {}),
        seed=job.spec["seed"],
        progress=job.progress,
    )
    done.model.backbone.save(job.out / "model")
    told = {}
    for place, lesson in enumerate(lessons):
        save_head(done.model.part(place), job.out / HEADS / f"{lesson.name}.safetensors")
        loss = done.losses[place]
        told[lesson.name] = {
            "share": done.shares[place],
            "steps": done.steps[place],
            "train_loss": loss if math.isfinite(loss) else None,
        }
    write_json(job.out / "tasks.json", told)
    return {
        "steps": sum(done.steps),
        "diverged": float(done.diverged),
        "truncated": max(one.train.truncated for one in lessons),
    }


def _spec_of(job: Job, task: dict[str, object]) -> dict[str, object]:
    """What a run on one of the tasks would be told."""
    return {**job.spec, **task, "adaptation": "full"}
