"""What the arms are judged on, and how they meet it."""

from typing import Annotated

from pydantic import (
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from harness.core.config import Value, unknown
from harness.finetuning import Finetune, Protocol
from harness.finetuning.adaptation import AnyAdaptation, Full
from harness.finetuning.continued_pretraining import Continued
from harness.finetuning.diagnostics import RECORDS
from harness.finetuning.task_chain import Intermediate, Multitask, siamese_problem
from harness.tasks import TASKS
from harness.tasks.custom import AnySuite, as_suite, suite_named, tasks_of
from harness.tasks.probes import PROBES
from harness.tasks.task import Suite, Task


class Evaluate(Value):
    """What the arms are judged on."""

    suite: AnySuite = "micro-glue-v1"
    """A name in `harness list suites`, or a suite of one's own: its name and its tasks."""
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Some tasks of the suite; null takes all. An average needs them all."""
    probes: tuple[str, ...] = ()
    """Names in `harness list probes`: what pretrained models are tested with as they are."""
    adaptation: AnyAdaptation = Full()
    """A name in `harness list adaptations`, or its fields."""
    protocol: Protocol = Protocol()
    finetune: Finetune = Finetune()
    submission: bool = False
    """Whether the splits without public labels are predicted, too, for a benchmark's server."""
    record: tuple[str, ...] = ()
    """What fine-tuning does, beside its scores: names in `harness list records`."""
    keep_weights: bool = False
    """Whether runs leave what they have trained beside their predictions."""
    continued: tuple[Continued, ...] = ()
    """Runs that go on from the pretrained model on other text before it meets a task, in order."""
    intermediate: tuple[Intermediate, ...] = ()
    """Tasks that a model is trained on, one after the other, before it meets the chosen ones."""
    multitask: Multitask | None = None
    """How the chosen tasks are learned together by one model; null: each by a model of its own."""
    sequence: bool = False
    """Whether one model learns the chosen tasks one after the other, in their order, and is scored
    after the last; after each task, the earlier ones are scored anew."""

    @property
    def chained(self) -> bool:
        """Whether what a task starts from has learned other tasks."""
        return bool(self.chain)

    @property
    def chain(self) -> dict[str, object]:
        """What is learned before a task or beside it, as lines of the protocol; empty: nothing."""
        lines: dict[str, object] = {}
        if self.intermediate:
            lines["intermediate"] = " then ".join(one.label for one in self.intermediate)
        if self.multitask:
            lines["multitask"] = self.multitask.model_dump(exclude_none=True)
        if self.sequence:
            lines["sequence"] = " then ".join(self.chosen)
        return lines

    @property
    def known_tasks(self) -> dict[str, Task]:
        """Name to task: all that ship, and those of the suite."""
        return {**TASKS, **tasks_of(self.suite_value)}

    @property
    def suite_value(self) -> Suite:
        """The whole suite."""
        return as_suite(self.suite)

    @property
    def chosen(self) -> dict[str, Task]:
        """Name to task of those that the arms are judged on."""
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
        given = info.data.get("suite")  # absent where it is wrong itself
        suite = as_suite(given) if given else None
        for number, task in enumerate(tasks or ()):
            if suite and task not in suite.tasks:
                raise ValueError(unknown(f"in {suite.name} the task", task, suite.tasks))
            if tasks and task in tasks[:number]:
                raise ValueError(f"the task {task!r} is given twice")
        return tasks

    @field_validator("probes")
    @classmethod
    def _probes(cls, probes: tuple[str, ...]) -> tuple[str, ...]:
        for number, probe in enumerate(probes):
            if probe not in PROBES:
                raise ValueError(unknown("the probe", probe, PROBES))
            if probe in probes[:number]:
                raise ValueError(f"the probe {probe!r} is given twice")
        return probes

    @field_validator("record")
    @classmethod
    def _record(cls, records: tuple[str, ...]) -> tuple[str, ...]:
        for number, record in enumerate(records):
            if record not in RECORDS:
                raise ValueError(unknown("the record", record, RECORDS))
            if record in records[:number]:
                raise ValueError(f"the record {record!r} is given twice")
        return records

    @model_validator(mode="after")
    def _one_chain(self) -> "Evaluate":
        given = [name for name in ("intermediate", "multitask", "sequence") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} do not go together; keep one of them")
        if (self.multitask or self.sequence) and self.adaptation.kind != "full":
            raise ValueError(
                f"{given[0]} trains the whole model and needs the adaptation full, but it is "
                f"{self.adaptation.kind}"
            )
        for one in self.intermediate:
            self._check_intermediate(one)
        return self

    def _check_intermediate(self, one: Intermediate) -> None:
        known = self.known_tasks
        if one.task not in known:
            raise ValueError(unknown("the intermediate task", one.task, known))
        task = known[one.task]
        if not task.train:
            raise ValueError(f"an intermediate task needs a train set, but {one.task} has none")
        for name in one.into or ():
            if name not in self.chosen:
                raise ValueError(unknown("into: the chosen task", name, self.chosen))
        if one.siamese and (why := siamese_problem(task, one.siamese)):
            raise ValueError(why)
