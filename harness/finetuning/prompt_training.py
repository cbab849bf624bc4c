"""Training on the prompts of tasks, as an experiment declares it: instruction and preference
tuning."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from harness.core.config import ConfigModel, Count
from harness.finetuning.compatibility import WRITING, reading_of
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.task_chain import Multitask
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.requests import unsupported_request
from harness.tasks.task import Task

PROMPTED = ("classification", "multiple_choice")
"""Kinds of tasks whose answers can be filled into a prompt."""


class PromptTraining(ConfigModel):
    """The whole model is trained on the prompts of tasks before it meets the reported ones."""

    name: ClassVar[str]
    """In labels."""
    num_rows: ClassVar[int] = 1
    """Texts that the network reads for each example."""
    tasks: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of tasks with prompts in `harness list tasks`, or of tasks of the suite."""
    max_examples: Count | None = Field(default=None, ge=1)
    """Limit of the number of examples in the mixing, which is proportional to it (Raffel et al.
    2020, section 3.5.2; Wei et al. 2022, section 2.4: 3,000); null: none."""
    includes_reported: bool = False
    """Whether reported tasks may be among `tasks`; otherwise all are held out of this training."""
    finetune: Finetune | None = None
    """Settings of this training; those not set are of `evaluate.finetune`."""

    @property
    def mixing(self) -> Multitask:
        """How the batches of the tasks are mixed."""
        return Multitask(max_examples=self.max_examples)

    @property
    def content(self) -> dict[str, Any]:
        """What decides the loss, as plain data."""
        return {"loss": "answers"}

    @property
    def label(self) -> str:
        """Tasks and set fields: `micro-mnli + micro-swag, beta 0.2`."""
        fields = self.model_dump(exclude={"tasks", "finetune"}, exclude_defaults=True)
        if self.finetune:
            fields |= self.finetune.model_dump(exclude_none=True)
        return ", ".join([" + ".join(self.tasks), *(f"{n} {value}" for n, value in fields.items())])


class InstructionTuning(PromptTraining):
    """Prompts of several tasks with the right answer are learned, with a loss on the answer alone;
    other tasks are then prompted without training (Wei et al. 2022, section 2)."""

    name: ClassVar[str] = "instruction tuning"


class PreferenceTuning(PromptTraining):
    """Direct preference optimisation (Rafailov et al. 2023, equation 7): in the prompt of a task,
    the right answer is preferred to a wrong one. The reference is the network at its start."""

    name: ClassVar[str] = "preference tuning"
    num_rows: ClassVar[int] = 2
    beta: float = Field(default=0.1, gt=0)
    """Weight of the divergence from the reference (appendix B: 0.1)."""
    rejected_seed: int = Field(default=0, ge=0)
    """Seed of the draw of one wrong answer per example."""

    @property
    def content(self) -> dict[str, Any]:
        """What decides the loss, as plain data."""
        return {"loss": "preferences", "beta": self.beta, "rejected_seed": self.rejected_seed}


def tasks_problem(given: PromptTraining, known: Sequence[Task], reported: Sequence[str]) -> str:
    """Why tasks do not suit the training on prompts; empty if they do.

    Args:
        known: the tasks of `given`.
        reported: names of the tasks that arms are scored on.
    """
    for task in known:
        if task.prompt is None or task.kind not in PROMPTED:
            return f"the tasks must have prompts, but {task.name} has none"
        if not task.train:
            return f"the tasks must have train sets, but {task.name} has none"
    both = [name for name in given.tasks if name in reported]
    if both and not given.includes_reported:
        return (
            f"the tasks must be held out of the reported ones, but {', '.join(both)} is reported; "
            "leave it out, or set includes_reported: true"
        )
    if given.max_examples and len(given.tasks) == 1:
        return "max_examples is for the mixing of several tasks, but there is one; leave it out"
    if given.includes_reported and not both:
        return "includes_reported is for tasks that are reported, but none is; leave it out"
    return ""


def network_problem(protocol: Protocol, run: Pretrain) -> str:
    """Why a network pretrained by `run` cannot be trained on prompts; empty if it can."""
    reading = reading_of(protocol, run)
    if reading not in WRITING:
        return (
            f"needs a network that writes text ({', '.join(WRITING)}), but this "
            f"{run.model.family} is {reading}; leave it out"
        )
    objective = run.objective.components[-1][1]
    if why := unsupported_request(objective):
        return f"needs a network that scores answers, but {why}; leave it out"
    if objective.output.kind == "masked_token":
        return (
            "needs a network that was trained to continue texts, but this one was trained to fill "
            "masks; leave it out"
        )
    return ""


def settings_problem(given: PromptTraining, settings: Finetune) -> str:
    """Why settings of fine-tuning do not suit a training on prompts; empty if they do."""
    if settings.neftune_alpha and isinstance(given, PreferenceTuning):
        return "finetune.neftune_alpha has no effect, as there is no noise or dropout; leave it out"
    if settings.holdout_decay:
        return "finetune.holdout_decay needs one task with scores on a hold-out; leave it out"
    for name in ("auxiliary_lm_weight", "auxiliary", "sift_weight"):
        if getattr(settings, name):
            return (
                f"finetune.{name} needs an output layer, but prompts are answered by the network's "
                "own token head; leave it out"
            )
    return ""
