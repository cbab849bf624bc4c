"""Stages of the tasks that are learned before a task, or together with it.

A stage `learn` trains one task or several and leaves the network (role `body` of what builds on it)
and what answers each task (role `head`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.experiment.arms import Arm
from harness.experiment.evaluation import Evaluate
from harness.finetuning import Finetune
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import obstacle
from harness.plan.continued_stages import pretraining_loss
from harness.plan.costs import finetuning_flops
from harness.plan.plan import Rescored, Retained
from harness.tasks.task import Task

if TYPE_CHECKING:
    from harness.plan.builder import Builder

Parents = Mapping[str, str]
"""Role to key of the stages that a run on a task builds on."""


def chain_obstacle(arm: Arm, task: Task) -> str:
    """Why an arm cannot learn what comes before `task`; empty if it can, or if nothing does."""
    evaluate = arm.evaluate
    for one in () if _learns_nothing(arm) else evaluate.intermediate:
        before = evaluate.known_tasks[one.task]
        why = obstacle(before, evaluate.protocol, ADAPTATIONS["full"], arm.adapted)
        if why and not one.siamese and one.leads_to(task.name):
            return f"of the intermediate task {one.task}, {why}"
    return ""


def other_tasks(
    builder: "Builder",
    arm: Arm,
    task: Task,
    parents: Parents,
    finetune_seed: int,
    share: float = 1.0,
) -> dict[str, str]:
    """Role to key of the stages that a run on `task` builds on beside its pretrained model, of
    which a `share` of the updates are made."""
    run = Chain(builder, arm, parents, finetune_seed, share)
    if _learns_nothing(arm):
        return {}
    if arm.evaluate.multitask:
        return run.of_all(task)
    if arm.evaluate.sequence:
        steps = run.steps()
        return run.after(task, list(steps)[-1], steps) if steps else {}
    return run.of_intermediates(task)


def rescored(
    builder: "Builder", arm: Arm, parents: Parents, pretrain_seed: int, finetune_seed: int
) -> list[Rescored]:
    """The runs of a sequence that score, after each of its tasks, that one and those before it."""
    run = Chain(builder, arm, parents, finetune_seed)
    steps, found = run.steps(), []
    for number, step in enumerate(steps):
        for name in list(steps)[: number + 1]:
            task = arm.evaluate.chosen[name]
            roles = {**parents, **run.after(task, step, steps)}
            spec = {**builder.task_spec(arm.evaluate, task), "seed": finetune_seed}
            label = f"{arm.name}, {name} after {step}, seeds {pretrain_seed}.{finetune_seed}"
            key = builder.stage("finetune", label, spec, roles)
            found.append(Rescored(arm.name, step, name, pretrain_seed, finetune_seed, key))
    return found


def retained(
    builder: "Builder", arm: Arm, parents: Parents, pretrain_seed: int, finetune_seed: int
) -> list[Retained]:
    """The losses of the pretraining before a sequence, and after each of its tasks."""
    models = {"": parents["pretrain"], **Chain(builder, arm, parents, finetune_seed).steps()}
    found = []
    for step, model in models.items():
        when = f"pretraining loss {f'after {step}' if step else 'before any task'}"
        key = pretraining_loss(builder, arm, pretrain_seed, model, when)
        if key:
            found.append(Retained(arm.name, step, pretrain_seed, finetune_seed, key))
    return found


def _learns_nothing(arm: Arm) -> bool:
    return arm.pretrain.model.facts.kind == "baseline"


class Chain:
    """What is learned between one pretrained model of an arm and a task, under one seed."""

    def __init__(
        self, builder: "Builder", arm: Arm, parents: Parents, seed: int, share: float = 1.0
    ) -> None:
        self.builder, self.arm, self.parents, self.seed = builder, arm, parents, seed
        self.share = share

    def of_intermediates(self, task: Task) -> dict[str, str]:
        body: dict[str, str] = {}
        for one in self.arm.evaluate.intermediate:
            if one.leads_to(task.name):
                before = self.arm.evaluate.known_tasks[one.task]
                settings = one.finetune or self.arm.evaluate.finetune
                body = {"body": self._learn([before], body, settings, one.siamese)}
        return body

    def of_all(self, task: Task) -> dict[str, str]:
        """A task without a train set has no head; its texts are read with the shared network."""
        learned = list(self._learnable().values())
        if not learned:
            return {}
        key = self._learn(learned, {}, self.arm.evaluate.finetune)
        return {"body": key, "head": key} if task in learned else {"body": key}

    def steps(self) -> dict[str, str]:
        """Task to the key of the stage that has learned it, and those before it."""
        found: dict[str, str] = {}
        body: dict[str, str] = {}
        for name, task in self._learnable().items():
            found[name] = self._learn([task], body, self.arm.evaluate.finetune)
            body = {"body": found[name]}
        return found

    def after(self, task: Task, step: str, steps: Mapping[str, str]) -> dict[str, str]:
        """The network after a step, with the head that `task` got at its own."""
        head = {"head": steps[task.name]} if task.name in steps else {}
        return {"body": steps[step], **head}

    def _learnable(self) -> dict[str, Task]:
        evaluate = self.arm.evaluate
        return {
            name: task
            for name, task in evaluate.chosen.items()
            if task.train
            and not obstacle(task, evaluate.protocol, evaluate.adaptation, self.arm.adapted)
        }

    def _learn(
        self,
        tasks: Sequence[Task],
        body: Parents,
        settings: Finetune,
        siamese: str | None = None,
    ) -> str:
        evaluate = self.arm.evaluate
        spec: dict[str, Any] = {
            "tasks": [self._task(task, siamese) for task in tasks],
            "protocol": evaluate.protocol.model_dump(),
            "finetune": settings.model_dump(),
            "mixing": evaluate.multitask.model_dump() if evaluate.multitask else None,
            "seed": self.seed,
            "checkpoint": self.share if self.share < 1 else None,
        }
        label = f"{self.arm.name}, {' + '.join(task.name for task in tasks)}, seed {self.seed}"
        cost = sum(finetuning_flops(self.arm, task, settings) for task in tasks)
        roles = {role: self.parents[role] for role in ("pretrain", "tokenizer")}
        return self.builder.stage("learn", label, spec, {**roles, **body}, cost)

    def _task(self, task: Task, siamese: str | None) -> dict[str, Any]:
        return {
            "task": task.name,
            "content": task.content,
            "fingerprint": self.builder.task_fingerprint(task.name),
            "siamese": siamese,
        }


def is_sequence(evaluate: Evaluate, arm: Arm) -> bool:
    """Whether the arm learns task after task."""
    return evaluate.sequence and not _learns_nothing(arm)
