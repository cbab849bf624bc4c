"""Distillation in fine-tuning, as an experiment declares it."""

from collections.abc import Collection

from pydantic import Field, model_validator

from harness.core.config import ConfigModel
from harness.finetuning.adaptation import Adaptation
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.scoring.requests import unsupported_request
from harness.tasks.task import Task

KINDS = ("classification", "regression")
"""Kinds of tasks with a teacher: those with a vector of outputs per example."""
TEXTS = "texts.json"
"""Name of the file of the train set's texts and their copies, which augmentation leaves."""


class LayerDistillation(ConfigModel):
    """Learning a teacher's layers on the inputs of the task, before its outputs (Jiao et al. 2020,
    section 3.2). The teacher's network reads every batch, without dropout."""

    epochs: int = Field(default=20, ge=1, le=100_000)
    """Epochs, before those of `finetune`, in which this is the only loss (section 4.2: 20, on
    augmented data). One schedule of the learning rate spans both, where TinyBERT has two runs."""
    hidden_weight: float = Field(default=1.0, ge=0)
    """Squared error of embeddings and hidden states after a learned projection, layer by mapped
    layer (equations 8 and 9)."""
    attention_weight: float = Field(default=1.0, ge=0)
    """Squared error of the attention scores, layer by mapped layer (equation 7)."""

    @property
    def weights(self) -> tuple[float, float]:
        """Of hidden states and of attention."""
        return self.hidden_weight, self.attention_weight

    @model_validator(mode="after")
    def _has_loss(self) -> "LayerDistillation":
        if not any(self.weights):
            raise ValueError("hidden_weight or attention_weight must be above 0, but both are 0")
        return self


class Augmentation(ConfigModel):
    """Copies of the training examples with other words, which the teacher labels (Jiao et al. 2020,
    section 3.2, algorithm 1). The teacher's pretrained network, which must predict masked tokens,
    gives the candidates for words of one token; words of several tokens stay, where TinyBERT takes
    neighbours in GloVe."""

    copies: int = Field(default=20, ge=1, le=1_000)
    """Of each example, beside itself (N_a)."""
    probability: float = Field(default=0.4, ge=0, le=1)
    """Of each word to be replaced (p_t); 0 repeats the examples."""
    candidates: int = Field(default=15, ge=1, le=10_000)
    """Most probable words from which a replacement is drawn uniformly (K)."""


class SoftTargetLoss(ConfigModel):
    """How the outputs of a teacher, and before them its layers, are learned."""

    temperature: float = Field(default=1.0, gt=0)
    """By which the logits of student and teacher are divided; the loss is times temperature^2
    (Hinton et al. 2015, section 2). Jiao et al. 2020, section 3.2: 1."""
    soft_target_weight: float = Field(default=1.0, ge=0, le=1)
    """Weight of the teacher's outputs; the task's own loss has the rest. 0 is fine-tuning without a
    teacher. Jiao et al. 2020, equation 10: 1."""
    layers: LayerDistillation | None = None
    """The teacher's embeddings, hidden states and attention, learned first; null: outputs alone."""
    augment: Augmentation | None = None
    """Copies of the examples, in both steps; null: the examples alone."""


class TaskDistillation(SoftTargetLoss):
    """Fine-tuning on the outputs of another arm that is fine-tuned on the same task: the prediction
    layer of TinyBERT's task-specific distillation (Jiao et al. 2020, section 3.2, equation 10),
    with `layers` after its intermediate layers."""

    teacher: str
    """Name of the arm whose fine-tuned networks teach, seed by seed."""


def masked_problem(objective: Objective | None, representation: str) -> str:
    """Why a network does not predict masked tokens from both sides; empty if it does."""
    if representation != "bidirectional":
        return f"it reads {representation}"
    if objective is None or objective.output.kind != "masked_token":
        return f"its output is {objective.output.kind if objective else 'not known'}"
    return unsupported_request(objective)


def distillation_problem(
    distillation: TaskDistillation,
    tasks: Collection[Task],
    protocol: Protocol,
    adaptation: Adaptation,
) -> str:
    """Why `tasks` cannot be learned from a teacher; empty if they can."""
    if not adaptation.trains:
        return f"distillation needs an adaptation that trains, but it is {adaptation.kind}"
    if distillation.layers and adaptation.kind != "full":
        return f"distillation.layers needs the adaptation full, but it is {adaptation.kind}"
    for task in tasks:
        if answered_as_text(task, protocol):
            return f"distillation needs an output layer, but {task.name} is answered as text"
        if task.kind not in KINDS:
            return (
                f"distillation is for tasks of {' and '.join(KINDS)}, but {task.name} is of "
                f"{task.kind}; choose others with tasks"
            )
    if distillation.temperature != 1 and all(task.kind == "regression" for task in tasks):
        return (
            "distillation.temperature is for classes, but all tasks are of regression; leave it out"
        )
    return ""
