"""Tasks that are learned before a task, or together with it, declared."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel
from harness.finetuning.protocol import Finetune
from harness.tasks.task import Task

Siamese = Literal["softmax", "cosine", "triplet"]
ENTAILED, CONTRADICTED = "entailment", "contradiction"
"""Labels that triplets are made of."""


class IntermediateTask(ConfigModel):
    """A task that a model is trained on whole before it meets the others (Phang et al. 2018); its
    head is dropped."""

    task: str
    """Name in `harness list tasks`, or of a task of the suite."""
    target_tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Tasks that start from it; null: all others."""
    siamese: Siamese | None = None
    """Both texts are read alone by one network, and their vectors are compared (Reimers and
    Gurevych 2019, section 3): a `softmax` over (u, v, |u - v|) for classes, the `cosine` for
    values, or a `triplet` loss over an anchor, what it entails and what it contradicts; null: as
    any task is read."""
    finetune: Finetune | None = None
    """Settings of this training; null: `evaluate.finetune`."""

    @property
    def label(self) -> str:
        """`micro-mnli (siamese softmax) for micro-rte`."""
        how = f" (siamese {self.siamese})" if self.siamese else ""
        settings = ""
        if self.finetune:
            fields = self.finetune.model_dump(exclude_none=True).items()
            settings = " with " + " ".join(f"{name} {value}" for name, value in fields)
        targets = f" for {' and '.join(self.target_tasks)}" if self.target_tasks else ""
        return f"{self.task}{how}{settings}{targets}"

    def leads_to(self, task: str) -> bool:
        """Whether `task` starts from it; never the task itself."""
        return task != self.task and (self.target_tasks is None or task in self.target_tasks)


class Multitask(ConfigModel):
    """One model for all chosen tasks, with a head for each; in words (`answer: text`) none.

    As many updates are made as the tasks would take one by one, so that the compute is the same.
    """

    mixing: Literal["proportional", "equal", "temperature"] = "proportional"
    """How often a batch is of a task: by its number of examples, all alike, or by its number of
    examples to the power of 1/temperature (Raffel et al. 2020, section 3.5.2)."""
    temperature: float = Field(default=2.0, ge=1)
    """Of `temperature` alone: 1 is proportional, and equal the limit."""
    max_examples: int | None = Field(default=None, ge=1)
    """A task counts as no larger than this (K, ibid.); null: as large as it is."""
    loss_weights: Literal["equal", "uncertainty"] = "equal"
    """`uncertainty`: learned with the network (Kendall et al. 2018, section 3.2)."""

    @model_validator(mode="after")
    def _in_use(self) -> "Multitask":
        fields = type(self).model_fields
        if self.mixing != "temperature" and self.temperature != fields["temperature"].default:
            raise ValueError(
                f"temperature is for mixing: temperature, but mixing is {self.mixing}; leave it out"
            )
        if self.mixing == "equal" and self.max_examples:
            raise ValueError(
                "max_examples has no effect under mixing: equal, which heeds no sizes; leave it out"
            )
        return self


def siamese_problem(task: Task, siamese: Siamese) -> str:
    """Why `task` cannot be trained so; empty if it can."""
    if len(task.text_fields) != 2 or task.kind not in ("classification", "regression"):
        return f"siamese needs a pair of texts with a class or a value, but {task.name} has none"
    if (siamese == "cosine") != (task.kind == "regression"):
        needed = "values (regression)" if siamese == "cosine" else "classes"
        return f"siamese: {siamese} needs a task of {needed}, but {task.name} is of {task.kind}"
    if siamese == "triplet" and not {ENTAILED, CONTRADICTED} <= set(task.labels):
        return (
            f"siamese: triplet needs the labels {ENTAILED} and {CONTRADICTED}, but {task.name} has "
            f"{', '.join(task.labels)}"
        )
    return ""
