"""The search of pretraining settings, as an experiment declares it, and its trials."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from harness.core.config import ConfigModel, as_tuples, set_path, unknown_name
from harness.finetuning.search.space import (
    Choice,
    Range,
    Simple,
    check_grid,
    ends,
    num_points,
    ranges_of,
)
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

WHOLE = ("batch_size", "schedule.warmup_steps")
"""Fields of whole numbers."""
SEARCHED = (
    "batch_size",
    *(f"optimizer.{name}" for name in Optimizer.model_fields if name != "kind"),
    *(f"schedule.{name}" for name in Schedule.model_fields),
    *(f"model.{name}" for name in ("dropout", "attention_dropout", "initializer_range")),
)
"""Fields of `pretrain` that may be searched: those after which held-out losses still measure the
same, as text, tokens, objective, network and budget are left alone."""
BEST, TRIALS = "best.json", "trials.json"
"""Files of the chosen settings and of all trials, in the folder of the stage that selects."""
TUNING_SEED = 1_000_000
"""Seed of all trials, beyond all seeds of reported runs: trials differ in their settings alone."""


class PretrainSearch(ConfigModel):
    """Search of pretraining settings by held-out loss, with equal trials for all arms."""

    trials: int = Field(ge=2, le=1_000)
    """Trials per arm, at most the points of a grid."""
    sampler: Literal["random", "grid"] = "random"
    """All arms try the same points. Where it is not set: `grid` for choices if there are trials for
    all of them."""
    space: Mapping[str, Simple] = Field(min_length=1)
    """Fields of `pretrain` with their choices or ranges: `batch_size`, and those of `optimizer`, of
    `schedule`, and of `model` its dropouts and `initializer_range`."""
    budget_fraction: float = Field(default=1.0, gt=0, le=1)
    """Share of an arm's budget for which each of its trials trains."""

    @property
    def size(self) -> int:
        """Number of trials, at most the points of a grid."""
        return min(self.trials, num_points(self.space)) if self.sampler == "grid" else self.trials

    @property
    def label(self) -> str:
        """The search as text: `6 random trials of 25 % of the budget`."""
        part = f" of {100 * self.budget_fraction:g} % of the budget"
        return f"{self.size} {self.sampler} trials{part if self.budget_fraction < 1 else ''}"

    @field_validator("space", mode="before")
    @classmethod
    def _known(cls, space: Any) -> Any:
        for name in space if isinstance(space, Mapping) else ():
            if name not in SEARCHED:
                raise ValueError(
                    f"{unknown_name('the pretraining setting', name, SEARCHED)}; others change "
                    "what the held-out loss measures, or are axes of the grid"
                )
        return as_tuples(space)

    @field_validator("space")
    @classmethod
    def _possible(cls, space: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, found in space.items():
            if isinstance(found, Range):
                if name in WHOLE:
                    raise ValueError(f"{name} is a whole number: list its values")
            elif len(set(found)) < max(2, len(found)):
                raise ValueError(f"{name} needs two choices or more, which differ: {list(found)}")
        return space

    @model_validator(mode="after")
    def _suited_sampler(self) -> "PretrainSearch":
        if "sampler" in self.model_fields_set:
            if self.sampler == "grid":
                check_grid(self.space, "random")
        elif not ranges_of(self.space) and num_points(self.space) <= self.trials:
            self.__dict__["sampler"] = "grid"
        return self


def with_settings(run: Pretrain, point: Mapping[str, Choice]) -> Pretrain:
    """A run with other settings.

    Args:
        point: dotted field of `pretrain` to value.

    Raises:
        ValueError: the run cannot have them.
    """
    if not point:
        return run
    fields = run.model_dump()
    for path, value in point.items():
        fields = set_path(fields, path, value)
    try:
        return Pretrain.model_validate(fields)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ").removeprefix("Input ")
        named = ", ".join(f"{name} {value}" for name, value in point.items())
        raise ValueError(f"{named} cannot be tried: {reason}") from error


def trial_run(run: Pretrain, fraction: float) -> Pretrain:
    """The run of a trial, before its settings: a share of the budget, without kept weights."""
    whole = run.budget.tokens is not None or run.budget.steps is not None
    (unit, amount), *_ = run.budget.model_dump(exclude_none=True).items()
    part = max(1, round(fraction * amount)) if whole else fraction * amount
    budget = type(run.budget).model_validate({unit: part})
    return run.model_copy(update={"budget": budget, "checkpoint_fractions": ()})


def is_searched(run: Pretrain) -> bool:
    """Whether a search applies to a run: a network is trained from weights of our own, and held-out
    text has a loss of it."""
    return is_pretrained(run) and run.model.facts.kind != "static" and _predicts_tokens(run)


def is_pretrained(run: Pretrain) -> bool:
    """Whether something is trained, from weights of our own."""
    is_given = run.model.checkpoint or run.model.facts.kind == "baseline"
    return not (run.budget.is_zero or is_given)


def _predicts_tokens(run: Pretrain) -> bool:
    """Whether the token head is trained; a student may learn from its teacher's states alone."""
    distillation = run.objectives[-1].distillation
    return distillation is None or bool(
        distillation.token_weight or distillation.soft_target_weight
    )


def problems(search: PretrainSearch, run: Pretrain) -> Iterator[tuple[str, str]]:
    """(field, why) for each searched field of which a run cannot have a choice or bound, or not
    with one of another field of the schedule."""
    if not is_searched(run):
        return
    tried = {name: ends(found) for name, found in search.space.items()}
    of_schedule = [name for name in tried if name.startswith("schedule.")]
    for names in (*((name,) for name in tried), *combinations(of_schedule, 2)):
        try:
            for values in product(*(tried[name] for name in names)):
                with_settings(run, dict(zip(names, values, strict=True)))
        except ValueError as error:
            yield names[-1], str(error)


@dataclass(frozen=True)
class PretrainTrial:
    """A finished trial."""

    number: int
    loss: float | None
    """Held-out loss at its end; null if it diverged."""
    seconds: float
    params: Mapping[str, Choice]


def best(trials: list[PretrainTrial]) -> PretrainTrial:
    """The trial with the lowest held-out loss, the first of ties.

    Raises:
        ValueError: all have diverged.
    """
    whole = [(one.loss, one.number) for one in trials if one.loss is not None]
    if not whole:
        tried = json.dumps([dict(one.params) for one in trials])
        raise ValueError(f"no pretraining setting can be chosen, as all trials diverged: {tried}")
    return trials[[one.number for one in trials].index(min(whole)[1])]


def at_edge(name: str, search: PretrainSearch, value: Choice) -> bool:
    """Whether a chosen value lies on the edge of what was tried, beyond which may be better ones:
    the least or largest choice, or the outer tenth of a range."""
    found = search.space[name]
    if not isinstance(found, Range):
        numbers = [
            one for one in found if isinstance(one, int | float) and one not in (True, False)
        ]
        return len(numbers) == len(found) > 2 and value in (min(numbers), max(numbers))
    share = found.position(float(value))
    return not 0.1 <= share <= 0.9
