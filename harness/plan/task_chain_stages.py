"""Stages of training on other tasks: intermediate, multi-task and sequential fine-tuning, and
training on prompts.

A `train_tasks` stage trains on one or several tasks. Later stages use its network (role `body`) and
its head for their task (role `head`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.experiment.arms import Arm
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import answered_as_text, unsupported_reason
from harness.finetuning.prompt_training import PromptTraining
from harness.finetuning.protocol import Finetune
from harness.plan.continued_stages import add_pretraining_loss
from harness.plan.costs import finetuning_flops
from harness.plan.graph import StageGraph
from harness.plan.plan import RetainedLoss, SequentialScore
from harness.plan.search_stages import add_search
from harness.tasks.task import Task

Parents = Mapping[str, str]
"""Role to key of the stages that a fine-tuning run builds on."""


def chain_unsupported_reason(arm: Arm, task: Task) -> str:
    """Why an arm does not support an intermediate task of `task`; empty if it supports all."""
    evaluate = arm.evaluate
    for one in () if _is_baseline(arm) else evaluate.intermediate_tasks:
        for name in one.tasks if one.leads_to(task.name) and not one.siamese else ():
            before = evaluate.known_tasks[name]
            why = unsupported_reason(before, evaluate.protocol, ADAPTATIONS["full"], arm.adapted)
            if why:
                return f"intermediate task {name}: {why}"
    return ""


def is_sequential(arm: Arm) -> bool:
    """Whether one model of the arm is fine-tuned on all tasks in sequence."""
    return arm.evaluate.sequential and not _is_baseline(arm)


@dataclass(frozen=True)
class TaskChain:
    """Adds the training on other tasks between a pretrained model and a task, for one seed."""

    graph: StageGraph
    arm: Arm
    parents: Parents
    """Role to key of the pretrained model and its tokenizer; and `tune`, the search of the settings
    of one network for all tasks, if any."""
    seed: int
    """Fine-tuning seed."""
    pretrain_fraction: float = 1.0
    """Share of the pretraining updates after which the model was saved."""

    def before(self, task: Task) -> dict[str, str]:
        """Adds the stages of other tasks that a run on `task` builds on.

        Returns:
            Role (`body`, `head`) to key; empty if the run builds on no other task.
        """
        if _is_baseline(self.arm):
            return {}
        if self.arm.evaluate.prompt_trainings:
            return self._prompt_trainings()
        if self.arm.evaluate.multitask:
            return self._multitask(task)
        if self.arm.evaluate.sequential:
            steps = self._sequence()
            return _after(task, list(steps)[-1], steps) if steps else {}
        return self._intermediate(task)

    def sequential_scores(self, pretrain_seed: int) -> list[SequentialScore]:
        """Adds the runs that score the model after each task of a sequence, on it and earlier
        ones."""
        arm, seed, steps, scores = self.arm, self.seed, self._sequence(), []
        for number, step in enumerate(steps):
            for name in list(steps)[: number + 1]:
                task = arm.evaluate.chosen[name]
                roles = {**self.parents, **_after(task, step, steps)}
                spec = {
                    **self.graph.finetune_spec(arm.evaluate, task),
                    **self.graph.perturbation(arm.evaluate),
                    "seed": seed,
                }
                seeds = f"seed {pretrain_seed}, fine-tuning seed {seed}"
                label = f"{arm.name}, {name} after {step}, {seeds}"
                key = self.graph.stage("finetune", label, spec, roles)
                scores.append(SequentialScore(arm.name, step, name, pretrain_seed, seed, key))
        return scores

    def retained_losses(self, pretrain_seed: int) -> list[RetainedLoss]:
        """Adds the pretraining losses before a sequence of tasks and after each task; empty for
        checkpoints and for models that predict no tokens."""
        losses = []
        for step, model in {"": self.parents["pretrain"], **self._sequence()}.items():
            when = f"pretraining loss {f'after {step}' if step else 'before any task'}"
            if key := add_pretraining_loss(self.graph, self.arm, pretrain_seed, model, when):
                losses.append(RetainedLoss(self.arm.name, step, pretrain_seed, self.seed, key))
        return losses

    def _intermediate(self, task: Task) -> dict[str, str]:
        """Role to key of the stages after the intermediate tasks of `task`."""
        evaluate, body = self.arm.evaluate, dict[str, str]()
        for one in evaluate.intermediate_tasks:
            if one.leads_to(task.name):
                known, settings = evaluate.known_tasks, one.finetune or evaluate.finetune
                before = [known[name] for name in one.tasks]
                key = self._train(before, body, settings, one.objectives, mixed=not one.is_joint)
                body = {"body": key}
        return body

    def _prompt_trainings(self) -> dict[str, str]:
        """Role to key of the last training on prompts, which is the same for all tasks."""
        evaluate, body = self.arm.evaluate, dict[str, str]()
        for one in evaluate.prompt_trainings:
            tasks = [evaluate.known_tasks[name] for name in one.tasks]
            settings = one.finetune or evaluate.finetune
            body = {"body": self._train(tasks, body, settings, prompts=one)}
        return body

    def _multitask(self, task: Task) -> dict[str, str]:
        """Role to key of the multi-task stage. A task without a train set has no head: it uses the
        embeddings of the shared network."""
        trainable = list(self._trainable_tasks().values())
        if not trainable:
            return {}
        tuned = {role: key for role, key in self.parents.items() if role == "tune"}
        key = self._train(trainable, tuned, self.arm.evaluate.finetune)
        return {"body": key, "head": key} if task in trainable else {"body": key}

    def multitask_search(self, repeat: int) -> str:
        """Adds the search for settings of one network for all tasks.

        Args:
            repeat: number of the search, from 0, where each pretraining seed has its own.

        Returns:
            Key of the stage that selects the settings; empty if nothing is trained.
        """
        evaluate, tasks = self.arm.evaluate, list(self._trainable_tasks().values())
        if _is_baseline(self.arm) or not tasks:
            return ""
        base = self._spec(tasks, evaluate.finetune)
        flops, roles = self._flops(tasks, evaluate.finetune), self._network
        name = f"{self.arm.name}, {_named(tasks)}"
        return add_search(self.graph, self.arm.sweep, name, base, roles, flops, repeat)

    def _sequence(self) -> dict[str, str]:
        """Task to key of the stage that trains on it after the earlier tasks."""
        steps: dict[str, str] = {}
        body: dict[str, str] = {}
        for name, task in self._trainable_tasks().items():
            steps[name] = self._train([task], body, self.arm.evaluate.finetune)
            body = {"body": steps[name]}
        return steps

    def _trainable_tasks(self) -> dict[str, Task]:
        evaluate, run = self.arm.evaluate, self.arm.adapted
        return {
            name: task
            for name, task in evaluate.chosen.items()
            if task.train
            and not unsupported_reason(task, evaluate.protocol, evaluate.adaptation, run)
        }

    def _train(
        self,
        tasks: Sequence[Task],
        body: Parents,
        settings: Finetune,
        objectives: Sequence[str | None] = (),
        mixed: bool = False,
        prompts: PromptTraining | None = None,
    ) -> str:
        """Adds the training on `tasks`: if `mixed`, as one task; on their `prompts`; else with a
        head for each.

        Args:
            body: role to key of what it builds on besides the pretrained model.
            objectives: of bi-encoders, one for each task; empty: none.
        """
        spec = self._spec(tasks, settings, objectives, mixed, prompts) | {"seed": self.seed}
        names = _named(tasks)
        what = f"{prompts.name} on {names}" if prompts else names
        label = f"{self.arm.name}, {what}, seed {self.seed}"
        flops = self._flops(tasks, settings) * (prompts.num_rows if prompts else 1)
        return self.graph.stage("train_tasks", label, spec, {**self._network, **body}, flops)

    def _spec(
        self,
        tasks: Sequence[Task],
        settings: Finetune,
        objectives: Sequence[str | None] = (),
        mixed: bool = False,
        prompts: PromptTraining | None = None,
    ) -> dict[str, Any]:
        """The spec of training on `tasks`, without seed."""
        contents = [
            {**self.graph.task_content(task), "siamese": siamese}
            for task, siamese in zip(tasks, objectives or [None] * len(tasks), strict=True)
        ]
        evaluate, fraction = self.arm.evaluate, self.pretrain_fraction
        mixing = prompts.mixing if prompts else evaluate.multitask
        return {
            "tasks": contents,
            "protocol": self.graph.protocol_content(evaluate.protocol),
            "finetune": self.graph.dump(settings),
            "mixing": self.graph.dump(mixing) if mixing else None,
            "mixed": True if mixed and len(tasks) > 1 else None,
            "prompts": prompts.content if prompts else None,
            # Earlier versions trained it only if the first task is answered as text.
            "token_head": "trained" if not prompts and self._turns_to_text(tasks) else None,
            "pretrain_fraction": fraction if fraction < 1 else None,
            **self.graph.precision,
        }

    def _flops(self, tasks: Sequence[Task], settings: Finetune) -> float:
        return sum(finetuning_flops(self.arm, task, settings, is_earlier=True) for task in tasks)

    @property
    def _network(self) -> dict[str, str]:
        """Role to key of the pretrained model and its tokenizer."""
        return {role: self.parents[role] for role in ("pretrain", "tokenizer")}

    def _turns_to_text(self, tasks: Sequence[Task]) -> bool:
        """Whether a task is answered as text after a first one that is not; tasks that are mixed
        are all answered in one way."""
        as_text = [answered_as_text(task, self.arm.evaluate.protocol) for task in tasks]
        return any(as_text) and not as_text[0]


def _after(task: Task, step: str, steps: Mapping[str, str]) -> dict[str, str]:
    """Role to key of the network after `step` and of the head from the step of `task`.

    Args:
        step: name of the last task trained on.
        steps: task to key of the stage that trains on it.
    """
    head = {"head": steps[task.name]} if task.name in steps else {}
    return {"body": steps[step], **head}


def _named(tasks: Sequence[Task]) -> str:
    return " + ".join(task.name for task in tasks)


def _is_baseline(arm: Arm) -> bool:
    return arm.pretrain.model.facts.kind == "baseline"
