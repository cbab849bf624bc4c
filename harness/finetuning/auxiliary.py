"""Auxiliary objectives beside the task in fine-tuning, as an experiment declares them."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from harness.core.config import ConfigModel
from harness.finetuning.continued_pretraining import NAMED_OBJECTIVE, objective_label
from harness.pretraining.objectives.objective import Mixture, Objective
from harness.pretraining.objectives.transforms.masking import MASKING

TASK_WEIGHT = "task"
"""Name of the weight of the task's own loss, beside those of the objectives."""
WEIGHT_LEARNING_RATE = 0.01
"""Default step size of learned weights (ldery/TARTAN, run_meta_multiple.sh)."""
OUTPUTS = ("masked_token", "next_token")
TRANSFORMS = ("none", *MASKING)
READINGS = ("bidirectional", "causal")


def _single(value: Any) -> Any:
    if isinstance(value, Mixture):
        raise ValueError("an auxiliary objective is a single one; list the parts of a mixture")
    return value


class AuxiliaryObjective(ConfigModel):
    """A pretraining objective that is also learned from the inputs of the task."""

    objective: Annotated[Objective, BeforeValidator(_single), NAMED_OBJECTIVE]
    """By value or name; it predicts tokens in place, from one stack of layers."""
    weight: float = Field(default=1.0, gt=0)
    """Of its mean loss per token, relative to 1 for the loss of the task; the initial one of a
    learned weight."""

    @property
    def name(self) -> str:
        """Of the objective: `mlm`."""
        return objective_label(self.objective)

    @property
    def label(self) -> str:
        """`0.5 x mlm`."""
        return f"{self.weight:g} x {self.name}"

    @field_validator("objective")
    @classmethod
    def _in_place(cls, objective: Objective) -> Objective:
        if any(_departures(objective)):
            raise ValueError(
                f"an auxiliary objective must have output {' or '.join(OUTPUTS)}, transform "
                f"{' or '.join(TRANSFORMS)}, representation {' or '.join(READINGS)} and dynamic "
                "masking, without sentence_pair, span_boundary, distillation and embedding_noise, "
                f"but is {objective.formula}, {objective.masking}"
            )
        return objective


def _departures(objective: Objective) -> Iterator[bool]:
    yield objective.output.kind not in OUTPUTS
    yield objective.transform.kind not in TRANSFORMS
    yield objective.representation not in READINGS
    yield objective.masking != "dynamic"
    yield objective.sentence_pair != "none"
    yield objective.span_boundary
    yield bool(objective.distillation or objective.embedding_noise)


class Auxiliary(ConfigModel):
    """Objectives that are learned together with the task, from the inputs of its train set: the
    loss is w_0 L_task + sum over i of w_i L_i (Dery et al. 2021, section 3; 2022)."""

    objectives: tuple[AuxiliaryObjective, ...]
    """At least one; each is learned in every update."""
    weights: Literal["fixed", "learned"] = "fixed"
    """`fixed`: as declared (MT-TARTAN, with equal ones); `learned`: a weight rises with the cosine
    of the gradients of its loss and of the task's loss on a batch of the hold-out of train, and the
    sum of all stays (META-TARTAN; Dery et al. 2021, section 3)."""
    weight_learning_rate: float | None = Field(default=None, gt=0)
    """Step size of the logits of learned weights; null: 0.01, as in ldery/TARTAN."""

    @property
    def is_learned(self) -> bool:
        """Whether the weights are learned."""
        return self.weights == "learned"

    @property
    def step_size(self) -> float:
        """Of the logits of learned weights."""
        return self.weight_learning_rate or WEIGHT_LEARNING_RATE

    @property
    def names(self) -> tuple[str, ...]:
        """Of all weights: the task's, then the objectives'."""
        return (TASK_WEIGHT, *(one.name for one in self.objectives))

    @property
    def initial_weights(self) -> tuple[float, ...]:
        """Of the task's loss, which is 1, and of the objectives'."""
        return (1.0, *(one.weight for one in self.objectives))

    @property
    def label(self) -> str:
        """`1 x mlm + 0.5 x clm, learned weights`."""
        return f"{' + '.join(one.label for one in self.objectives)}, {self.weights} weights"

    @property
    def num_passes(self) -> float:
        """Cost of an update relative to one of the task alone. With learned weights, each loss has
        two backward passes of twice a forward one, and the hold-out has a pass of its own."""
        losses = 1 + len(self.objectives)
        return losses * 5 / 3 + 1 if self.is_learned else float(losses)

    @model_validator(mode="after")
    def _distinct(self) -> "Auxiliary":
        found = [one.objective for one in self.objectives]
        if not found:
            raise ValueError("objectives must list at least one objective, but is empty")
        if any(one in found[:place] for place, one in enumerate(found)):
            raise ValueError("auxiliary objectives must differ; give one of them a larger weight")
        return self

    @model_validator(mode="after")
    def _in_use(self) -> "Auxiliary":
        if self.weight_learning_rate is not None and not self.is_learned:
            raise ValueError(
                "weight_learning_rate is for weights: learned, but weights is fixed; leave it out"
            )
        return self
