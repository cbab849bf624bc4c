"""Intermediate-task and multitask training, as an experiment declares them."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from harness.core.config import ConfigModel, Count
from harness.finetuning.protocol import Finetune
from harness.tasks.task import Task

Siamese = Literal[
    "softmax", "infersent", "cosine", "triplet", "contrastive", "dropout_pairs", "ranking"
]
"""Training objective of a bi-encoder."""
OF_VECTORS = ("triplet", "contrastive", "dropout_pairs", "ranking")
"""Those that compare vectors alone, without outputs for the examples."""
OF_TRIPLETS = ("triplet", "contrastive")
WITHIN_BATCH = ("dropout_pairs", "ranking")
"""Those whose negatives are the other texts of a batch alone."""
ENTAILED, CONTRADICTED = "entailment", "contradiction"
"""Labels from which triplets are built."""


class IntermediateTask(ConfigModel):
    """A task on which the whole model is trained before the target tasks (Phang et al. 2018); its
    output layer is dropped."""

    task: str | tuple[str, ...]
    """Name in `harness list tasks`, or of a task of the suite. Several names are tasks with the
    same labels whose examples are mixed (SNLI and MNLI; Reimers and Gurevych 2019, section 3.1)."""
    target_tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Tasks fine-tuned from the resulting model; null: all others."""
    siamese: Siamese | tuple[Siamese, ...] | None = None
    """Bi-encoder training, with both texts encoded separately (Reimers and Gurevych 2019, section
    3): `softmax` over (u, v, |u - v|) for classes, `cosine` for values, or the `triplet` loss of an
    anchor, an entailed and a contradicted text. SimCSE (Gao et al. 2021): `contrastive` on the same
    triplets (equation 5), or `dropout_pairs` of each text with itself (equation 4), for any task.
    `infersent`: a hidden layer and a softmax over (u, v, |u - v|, u * v) (Conneau et al. 2017);
    `ranking`: the right choice among those of the batch, by dot products, for multiple choice
    (Henderson et al. 2017). A list has an objective for each task, which are learned together, each
    batch on one task (Cer et al. 2018); null: no bi-encoder."""
    finetune: Finetune | None = None
    """Settings of the intermediate training; those not set are of `evaluate.finetune`."""

    @field_validator("task")
    @classmethod
    def _one_or_several(cls, task: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not isinstance(task, str) and len(task) < 2:
            raise ValueError(f"must be a name or a list of two or more, but has {len(task)}")
        return task

    @model_validator(mode="after")
    def _an_objective_each(self) -> "IntermediateTask":
        if self.is_joint and len(self.objectives) != len(self.tasks):
            raise ValueError(
                f"siamese must be one objective, or a list of one for each task, but there are "
                f"{len(self.objectives)} for {len(self.tasks)}"
            )
        return self

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of all its tasks."""
        return (self.task,) if isinstance(self.task, str) else self.task

    @property
    def is_joint(self) -> bool:
        """Whether each task has its own objective, instead of one for their mixed examples."""
        return isinstance(self.siamese, tuple)

    @property
    def objectives(self) -> tuple[Siamese | None, ...]:
        """The bi-encoder objective of each task; null: none."""
        if isinstance(self.siamese, tuple):
            return self.siamese
        return (self.siamese,) * len(self.tasks)

    @property
    def label(self) -> str:
        """Name in tables: `micro-mnli (siamese softmax) for micro-rte`."""
        named = self.objectives if self.is_joint else self.objectives[:1]
        how = f" (siamese {' + '.join(map(str, named))})" if self.siamese else ""
        settings = ""
        if self.finetune:
            fields = self.finetune.model_dump(exclude_none=True)
            if self.finetune.auxiliary:
                fields["auxiliary"] = self.finetune.auxiliary.label
            settings = " with " + " ".join(f"{name} {value}" for name, value in fields.items())
        targets = f" for {' and '.join(self.target_tasks)}" if self.target_tasks else ""
        return f"{' + '.join(self.tasks)}{how}{settings}{targets}"

    def leads_to(self, task: str) -> bool:
        """Whether `task` is a target task; never an intermediate task itself."""
        return task not in self.tasks and (self.target_tasks is None or task in self.target_tasks)


class Multitask(ConfigModel):
    """One model for all tasks, with an output layer for each, or none with `answer: text`.

    The number of updates is the sum over the tasks, so that the compute equals separate training.
    """

    mixing: Literal["proportional", "equal", "temperature"] = "proportional"
    """Probability of a task per batch: proportional to its number of examples, equal for all, or
    proportional to the number of examples to the power 1/temperature (Raffel et al. 2020, section
    3.5.2)."""
    temperature: float = Field(default=2.0, ge=1)
    """For `mixing: temperature`; 1 is proportional, the limit is equal."""
    max_examples: Count | None = Field(default=None, ge=1)
    """Limit of the number of examples in the mixing (K, ibid.); null: none."""
    loss_weights: Literal["equal", "uncertainty"] = "equal"
    """Loss weights; `uncertainty`: learned (Kendall et al. 2018, section 3.2)."""

    @model_validator(mode="after")
    def _in_use(self) -> "Multitask":
        fields = type(self).model_fields
        if self.mixing != "temperature" and self.temperature != fields["temperature"].default:
            raise ValueError(
                f"temperature is for mixing: temperature, but mixing is {self.mixing}; leave it out"
            )
        if self.mixing == "equal" and self.max_examples:
            raise ValueError("max_examples has no effect with mixing: equal; leave it out")
        return self


def siamese_problem(task: Task, siamese: Siamese) -> str:
    """Why `task` does not support a bi-encoder objective; empty if it does."""
    if siamese == "dropout_pairs":
        words = f"siamese: {siamese} needs texts, but those of {task.name} are lists of words"
        return words if task.kind == "tagging" else ""
    if siamese == "ranking":
        kind = f"siamese: {siamese} needs a multiple-choice task, but {task.name} is of {task.kind}"
        return kind if task.kind != "multiple_choice" else ""
    if len(task.text_fields) != 2 or task.kind not in ("classification", "regression"):
        return f"siamese needs a pair of texts with a class or a value, but {task.name} has none"
    if (siamese == "cosine") != (task.kind == "regression"):
        needed = "values (regression)" if siamese == "cosine" else "classes"
        return f"siamese: {siamese} needs a task of {needed}, but {task.name} is of {task.kind}"
    if siamese in OF_TRIPLETS and not {ENTAILED, CONTRADICTED} <= set(task.labels):
        return (
            f"siamese: {siamese} needs the labels {ENTAILED} and {CONTRADICTED}, but {task.name} "
            f"has {', '.join(task.labels)}"
        )
    return ""


def mixture_problem(tasks: Sequence[Task], is_joint: bool = False) -> str:
    """Why the examples of `tasks` cannot be mixed; empty if they can.

    Args:
        is_joint: whether each task keeps its own objective, so that it must only differ.
    """
    first, *others = tasks
    if others and not is_joint and first.kind not in ("classification", "regression"):
        return f"mixed tasks must have classes or values, but {first.name} is of {first.kind}"
    for number, other in enumerate(others):
        if other.name in (one.name for one in tasks[: number + 1]):
            return f"mixed tasks must differ, but {other.name} is given twice"
        if not is_joint and _mixed_as(other) != _mixed_as(first):
            sides = " and ".join(f"{one.name} {_mixed_as(one)}" for one in (first, other))
            return (
                f"mixed tasks must have equal kinds, labels and numbers of texts, but have {sides}"
            )
    return ""


def _mixed_as(task: Task) -> str:
    """What tasks that are mixed have in common."""
    what = f"{task.kind} of {len(task.text_fields)} texts"
    return f"({what}: {', '.join(sorted(task.labels))})" if task.labels else f"({what})"
