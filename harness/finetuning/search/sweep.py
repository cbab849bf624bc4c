"""The search of fine-tuning settings, as an experiment declares it."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.spaces import (
    ADAPTATION_PREFIX,
    SPACES,
    Choice,
    Dimension,
    Range,
    points,
)


class Sweep(ConfigModel):
    """Search of fine-tuning settings on a hold-out of train, equal for all arms and tasks."""

    trials: int = Field(default=0, ge=0)
    """Trials per (arm, task); 0: no search."""
    sampler: Literal["tpe", "random", "grid"] = "tpe"
    """`random` and `grid` try the same points for every arm and task, in parallel; a trial of `tpe`
    depends on those before it, so that its study is one stage."""
    space: Mapping[str, Dimension] = Field(default_factory=dict)
    """A name in `harness list spaces`, or fields of `evaluate.finetune` (and `adaptation.<field>`
    of the adaptation) with their choices or ranges."""
    pruner: Literal["median", "successive_halving"] | None = None
    """Ends trials early by their hold-out score after each epoch: below the median of earlier
    trials (Golovin et al. 2017, section 3.4), or not in the top share of a rung (Li et al. 2020,
    asynchronous). For `tpe` only."""

    @property
    def size(self) -> int:
        """Number of trials, at most the points of a grid."""
        return min(self.trials, len(points(self.space))) if self.sampler == "grid" else self.trials

    @property
    def label(self) -> str:
        """The search as text: `8 random trials`."""
        pruned = f", {self.pruner} pruner" if self.pruner else ""
        return f"{self.size} {self.sampler} trials{pruned}" if self.trials else "none"

    @field_validator("space", mode="before", json_schema_input_type=str | dict[str, Dimension])
    @classmethod
    def _named(cls, space: Any) -> Any:
        if isinstance(space, str):
            if space not in SPACES:
                raise ValueError(unknown_name("the space", space, SPACES))
            return SPACES[space]
        for name in space if isinstance(space, Mapping) else ():
            if name not in Finetune.model_fields and not name.startswith(ADAPTATION_PREFIX):
                known = (*Finetune.model_fields, f"{ADAPTATION_PREFIX}<field>")
                raise ValueError(unknown_name("the hyperparameter", name, known))
        return as_tuples(space)

    @field_validator("space")
    @classmethod
    def _possible(cls, space: Mapping[str, Dimension]) -> Mapping[str, Dimension]:
        for name, dimension in space.items():
            if not isinstance(dimension, Range) and len(set(dimension)) < len(dimension):
                raise ValueError(f"the choices of {name} must differ, but are {list(dimension)}")
            if not name.startswith(ADAPTATION_PREFIX):  # checked with the arms
                for value in ends(dimension):
                    check_tried(Finetune, name, value)
        return space

    @model_validator(mode="after")
    def _space_and_trials(self) -> "Sweep":
        if self.trials and not self.space:
            raise ValueError(f"{self.trials} trials need a space to search, but none is given")
        if self.space and "trials" not in self.model_fields_set:
            raise ValueError("a space needs trials, the number of points to try, but none is given")
        return self

    @model_validator(mode="after")
    def _sampler_supports(self) -> "Sweep":
        ranges = [name for name, found in self.space.items() if isinstance(found, Range)]
        if self.sampler == "grid" and ranges:
            raise ValueError(
                f"the sampler grid needs a list of choices for {ranges[0]}, but a range is given; "
                "list its values, or take the sampler random or tpe"
            )
        if self.pruner and self.sampler != "tpe":
            raise ValueError(
                f"the pruner {self.pruner} needs the sampler tpe, whose trials know of those "
                f"before them, but the sampler is {self.sampler}"
            )
        return self


def ends(dimension: Dimension) -> tuple[Choice, ...]:
    """The choices, or the bounds of a range."""
    return (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension


def check_tried(model: type[ConfigModel], name: str, value: Choice, **fixed: Any) -> None:
    """Checks one value of a search space.

    Raises:
        ValueError: `model` refuses the value next to the `fixed` fields.
    """
    whole = model.model_fields[name].annotation in (int, int | None)
    if whole and isinstance(value, float) and value.is_integer():
        value = int(value)  # a bound of a range
    try:
        model.read({**fixed, name: value})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Input ")
        shown = repr(value) if isinstance(value, (str, bool)) else f"{value:g}"
        raise ValueError(f"a {name} of {shown} cannot be tried: it {reason}") from error
