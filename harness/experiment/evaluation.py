"""`evaluate`: the tasks that arms are scored on, and how they are fine-tuned."""

from collections.abc import Collection
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator, model_validator

from harness.core.config import ConfigModel, unknown_name
from harness.experiment.task_names import elsewhere
from harness.finetuning.adaptation import AnyAdaptation, Full
from harness.finetuning.continued_pretraining import ContinuedPretraining
from harness.finetuning.diagnostics import DIAGNOSTICS
from harness.finetuning.distillation import TaskDistillation, distillation_problem
from harness.finetuning.ensemble import Ensemble, ensemble_problem
from harness.finetuning.prompt_training import (
    InstructionTuning,
    PreferenceTuning,
    PromptTraining,
    tasks_problem,
)
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.task_chain import (
    IntermediateTask,
    Multitask,
    mixture_problem,
    siamese_problem,
)
from harness.finetuning.task_network import task_network_problem
from harness.tasks import TASKS
from harness.tasks.custom import AnySuite, as_suite, suite_named, tasks_of
from harness.tasks.probes import PROBES
from harness.tasks.task import Suite, Task

PROMPT_TRAININGS = ("instruction_tuning", "preference_tuning")
"""Fields of training on prompts, in their order."""


class Evaluate(ConfigModel):
    """The tasks that arms are scored on, and how they are fine-tuned."""

    suite: AnySuite = "micro-glue-v1"
    """A name in `harness list suites`, or a custom suite: its name and its tasks."""
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Some tasks of the suite; null means all. The average needs all tasks. A mapping instead
    declares tasks by name, as `{reviews: {data: train.csv}}`, in place of a suite."""
    probes: tuple[str, ...] = ()
    """Zero-shot tests of the pretrained models: names in `harness list probes`."""
    adaptation: AnyAdaptation = Full()
    """A name in `harness list adaptations`, or its fields."""
    protocol: Protocol = Protocol()
    finetune: Finetune = Finetune()
    predict_test: bool = False
    """Whether to predict test splits without public labels, for the server of a benchmark."""
    diagnostics: tuple[str, ...] = ()
    """Additional measurements of fine-tuning: names in `harness list diagnostics`."""
    save_weights: bool = False
    """Whether fine-tuning runs save their weights in addition to their predictions."""
    continued_pretraining: tuple[ContinuedPretraining, ...] = ()
    """Further pretraining on other text before fine-tuning, in order (Gururangan et al. 2020)."""
    intermediate_tasks: tuple[IntermediateTask, ...] = ()
    """Tasks on which a model is fine-tuned before the chosen task, in order (Phang et al. 2018)."""
    multitask: Multitask | None = None
    """Multi-task fine-tuning of one model on the chosen tasks; null: a model for each task."""
    sequential: bool = False
    """Whether one model is fine-tuned on the chosen tasks one after the other, in order. After each
    task, it is scored on that task and on the earlier ones."""
    instruction_tuning: InstructionTuning | None = None
    """Training on the prompts of other tasks with their answers (Wei et al. 2022, section 2); null:
    none."""
    preference_tuning: PreferenceTuning | None = None
    """Training to prefer right answers to wrong ones in the prompts of other tasks (Rafailov et al.
    2023), after `instruction_tuning` if both are given; null: none."""
    distillation: TaskDistillation | None = None
    """Fine-tuning on the outputs of another arm on the same task (Jiao et al. 2020, section 3.2);
    null: on the labels alone."""
    ensemble: Ensemble | None = None
    """Several fine-tuning runs whose outputs or weights are averaged and scored as one run; null:
    each run alone."""

    @property
    def other_tasks(self) -> dict[str, object]:
        """Other tasks that models are trained on, as entries of the protocol; empty if none."""
        lines: dict[str, object] = {}
        if self.intermediate_tasks:
            labels = (one.label for one in self.intermediate_tasks)
            lines["intermediate tasks"] = " then ".join(labels)
        if self.multitask:
            lines["multitask"] = self.multitask.model_dump(exclude_none=True)
        if self.sequential:
            lines["sequential"] = " then ".join(self.chosen)
        return lines | {one.name: one.label for one in self.prompt_trainings}

    @property
    def prompt_trainings(self) -> tuple[PromptTraining, ...]:
        """The trainings on prompts, in their order."""
        return tuple(one for one in (self.instruction_tuning, self.preference_tuning) if one)

    @property
    def earlier_tasks(self) -> tuple[str, ...]:
        """Names of the tasks that models are trained on before the chosen ones, each once."""
        given: tuple[IntermediateTask | PromptTraining, ...]
        given = (*self.intermediate_tasks, *self.prompt_trainings)
        return tuple(dict.fromkeys(name for one in given for name in one.tasks))

    @property
    def known_tasks(self) -> dict[str, Task]:
        """Name to task: all shipped tasks, and those of the suite."""
        return {**TASKS, **tasks_of(self.suite_value)}

    @property
    def suite_value(self) -> Suite:
        """The suite with all its tasks."""
        return as_suite(self.suite)

    @property
    def chosen(self) -> dict[str, Task]:
        """Name to task of the tasks that arms are scored on."""
        known = tasks_of(self.suite_value)
        return {name: known[name] for name in self.tasks or known}

    @field_validator("suite")
    @classmethod
    def _suite(cls, suite: AnySuite) -> AnySuite:
        if isinstance(suite, str):
            suite_named(suite)
        return suite

    @field_validator("tasks")
    @classmethod
    def _tasks(cls, tasks: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        given = info.data.get("suite")  # absent if it is invalid
        suite = as_suite(given) if given else None
        for name in tasks or ():
            if suite and name not in suite.tasks and (why := elsewhere(name, suite)):
                raise ValueError(why)
        where, known = (f"in {suite.name} ", suite.tasks) if suite else ("", tasks or ())
        return tasks and _checked_names(tasks, "the task", known, where)

    @field_validator("probes")
    @classmethod
    def _probes(cls, probes: tuple[str, ...]) -> tuple[str, ...]:
        return _checked_names(probes, "the probe", PROBES)

    @field_validator("diagnostics")
    @classmethod
    def _diagnostics(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return _checked_names(names, "the diagnostic", DIAGNOSTICS)

    @model_validator(mode="after")
    def _one_chain(self) -> "Evaluate":
        names = ("intermediate_tasks", "multitask", "sequential")
        given = [name for name in names if getattr(self, name)]
        prompted = [name for name in PROMPT_TRAININGS if getattr(self, name)]
        if given and prompted:
            raise ValueError(f"{given[0]} and {prompted[0]} exclude each other; keep one")
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other; keep one")
        if (self.multitask or self.sequential) and self.adaptation.kind != "full":
            raise ValueError(
                f"{given[0]} trains the whole model and needs the adaptation full, but it is "
                f"{self.adaptation.kind}"
            )
        for one in self.intermediate_tasks:
            self._check_intermediate(one)
        return self

    @model_validator(mode="after")
    def _has_task_networks(self) -> "Evaluate":
        if not self.protocol.head:
            return self
        earlier = [self.known_tasks[name] for one in self.intermediate_tasks for name in one.tasks]
        tasks = [*self.chosen.values(), *earlier]
        if why := task_network_problem(self.protocol, tasks, self.adaptation):
            raise ValueError(why)
        if any(one.siamese for one in self.intermediate_tasks):
            raise ValueError(
                "protocol.head is not part of a bi-encoder, but an intermediate task is siamese; "
                "leave it out"
            )
        return self

    @model_validator(mode="after")
    def _has_outputs_to_learn(self) -> "Evaluate":
        if not self.distillation:
            return self
        if self.multitask or self.sequential:
            field = "multitask" if self.multitask else "sequential"
            raise ValueError(
                f"distillation needs a model for each task, but {field} trains one for all; keep "
                "one of them"
            )
        tasks = self.chosen.values()
        if why := distillation_problem(self.distillation, tasks, self.protocol, self.adaptation):
            raise ValueError(why)
        return self

    @model_validator(mode="after")
    def _has_members(self) -> "Evaluate":
        if not self.ensemble:
            return self
        chains = ("intermediate_tasks", "multitask", "sequential", *PROMPT_TRAININGS)
        for field in (*chains, "distillation", "diagnostics"):
            if getattr(self, field):
                raise ValueError(
                    "ensemble is of networks that are fine-tuned on the chosen task alone, but "
                    f"{field} is given; keep one"
                )
        if not self.adaptation.trains:
            raise ValueError(
                f"ensemble needs an adaptation that trains, but it is {self.adaptation.kind}"
            )
        if why := ensemble_problem(self.ensemble, self.chosen.values(), self.protocol):
            raise ValueError(why)
        return self

    @model_validator(mode="after")
    def _has_prompts(self) -> "Evaluate":
        for field in PROMPT_TRAININGS:
            if given := getattr(self, field):
                names = _checked_names(given.tasks, f"{field}: the task", self.known_tasks)
                tasks = [self.known_tasks[name] for name in names]
                if why := tasks_problem(given, tasks, tuple(self.chosen)):
                    raise ValueError(f"{field}: {why}")
        return self

    def _check_intermediate(self, one: IntermediateTask) -> None:
        known = self.known_tasks
        for name, siamese in zip(one.tasks, one.objectives, strict=True):
            if name not in known:
                raise ValueError(unknown_name("the intermediate task", name, known))
            if not known[name].train:
                raise ValueError(f"an intermediate task needs a train set, but {name} has none")
            if siamese and (why := siamese_problem(known[name], siamese)):
                raise ValueError(why)
        if why := mixture_problem([known[name] for name in one.tasks], one.is_joint):
            raise ValueError(f"intermediate_tasks: {why}")
        for name in one.target_tasks or ():
            if name not in self.chosen:
                raise ValueError(unknown_name("target_tasks: the chosen task", name, self.chosen))


def _checked_names(
    names: tuple[str, ...], kind: str, known: Collection[str], where: str = ""
) -> tuple[str, ...]:
    """`names`, if all are known and none is given twice."""
    for number, name in enumerate(names):
        if name not in known:
            raise ValueError(unknown_name(f"{where}{kind}", name, known))
        if name in names[:number]:
            raise ValueError(f"{kind} {name!r} is given twice")
    return names
