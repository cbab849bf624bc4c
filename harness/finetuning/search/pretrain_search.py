"""The search of pretraining settings, as an experiment declares it, and its trials."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from harness.core.config import ConfigModel, as_tuples, near_name, set_path, unknown_name
from harness.finetuning.search.space import (
    Choice,
    Choices,
    Range,
    Simple,
    check_grid,
    ends,
    num_points,
    ranges_of,
    space_text,
)
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

WHOLE = ("batch_size", "schedule.warmup_steps")
"""Fields of whole numbers."""
OPTIMIZER = "optimizer."
"""Prefix of the fields of the optimizer."""
OPTIMIZER_FIELDS = tuple(name for name in Optimizer.model_fields if name != "kind")
SEARCHED = (
    "batch_size",
    *(f"{OPTIMIZER}{name}" for name in OPTIMIZER_FIELDS),
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
    space: Mapping[str, Simple] = Field(default_factory=dict)
    """Fields of `pretrain` with their choices or ranges: `batch_size`, and those of `optimizer`, of
    `schedule`, and of `model` its dropouts and `initializer_range`."""
    optimizers: Mapping[str, Mapping[str, Simple]] = Field(default_factory=dict)
    """Kind of optimizer to further fields of `optimizer` with their choices or ranges, for the arms
    with this kind: rates of AdamW and Adafactor do not compare. With one, all kinds of searched
    arms need one; in a grid, all have equally many points."""
    budget_fraction: float = Field(default=1.0, gt=0, le=1)
    """Share of an arm's budget for which each of its trials trains."""

    @property
    def size(self) -> int:
        """Number of trials, at most the points of a grid."""
        points = num_points(self.spaces[0])
        return min(self.trials, points) if self.sampler == "grid" else self.trials

    @property
    def spaces(self) -> Sequence[Mapping[str, Simple]]:
        """The space of each kind of optimizer, or that of all."""
        return [self.space_of(kind) for kind in self.optimizers] or [self.space]

    def space_of(self, kind: str) -> Mapping[str, Simple]:
        """The space of arms with a kind of optimizer."""
        own = self.optimizers.get(kind, {})
        return {**self.space, **{f"{OPTIMIZER}{name}": found for name, found in own.items()}}

    def of(self, run: Pretrain) -> "PretrainSearch":
        """The search of an arm, in one space."""
        if not self.optimizers:
            return self
        return self.model_copy(
            update={"space": self.space_of(run.optimizer.kind), "optimizers": {}}
        )

    @property
    def names(self) -> list[str]:
        """The fields that any arm searches."""
        return list(dict.fromkeys(name for space in self.spaces for name in space))

    @property
    def text(self) -> str:
        """What is tried: `optimizer.learning_rate 0.001 or 0.002`; by optimizer, if they differ."""
        if not self.optimizers:
            return space_text(self.space)
        return "; ".join(f"{kind}: {space_text(self.space_of(kind))}" for kind in self.optimizers)

    @property
    def label(self) -> str:
        """The search as text: `6 random trials of 25 % of the budget`."""
        part = f" of {100 * self.budget_fraction:g} % of the budget"
        return f"{self.size} {self.sampler} trials{part if self.budget_fraction < 1 else ''}"

    def line(self, runs: Iterable[Pretrain]) -> str:
        """The search as text, with the arms that have it; `runs` are those of all arms."""
        every = all(map(is_searched, filter(is_pretrained, runs)))
        return f"{self.label} for every {'pretrained' if every else 'searched'} arm: {self.text}"

    @field_validator("space", mode="before")
    @classmethod
    def _known(cls, space: Any) -> Any:
        for name in space if isinstance(space, Mapping) else ():
            if name not in SEARCHED:
                raise ValueError(_not_searched(name))
        return as_tuples(space)

    @field_validator("space")
    @classmethod
    def _possible(cls, space: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, found in space.items():
            _check_choices(name, found)
        return space

    @field_validator("optimizers", mode="before")
    @classmethod
    def _known_optimizers(cls, optimizers: Any) -> Any:
        kinds, fields = get_args(Optimizer.model_fields["kind"].annotation), OPTIMIZER_FIELDS
        for kind, space in optimizers.items() if isinstance(optimizers, Mapping) else ():
            if kind not in kinds:
                raise ValueError(unknown_name("the kind of optimizer", kind, kinds))
            for name in space if isinstance(space, Mapping) else ():
                if name not in fields:
                    raise ValueError(unknown_name(f"the field of {kind}", name, fields))
        return as_tuples(optimizers)

    @model_validator(mode="after")
    def _own_spaces(self) -> "PretrainSearch":
        if not self.optimizers and not self.space:
            raise ValueError("space names the fields to search, but is empty")
        if empty := [kind for kind in self.optimizers if not self.space_of(kind)]:
            raise ValueError(
                f"optimizers.{empty[0]} names the fields to search, but it and space are empty"
            )
        for kind, space in self.optimizers.items():
            for name, found in space.items():
                if f"{OPTIMIZER}{name}" in self.space:
                    raise ValueError(f"{OPTIMIZER}{name} is searched for all arms and for {kind}")
                _check_choices(f"{OPTIMIZER}{name}", found)
        return self

    @model_validator(mode="after")
    def _suited_sampler(self) -> "PretrainSearch":
        if "sampler" not in self.model_fields_set:
            listed = not any(map(ranges_of, self.spaces))
            if listed and num_points(self.spaces[0]) <= self.trials:
                self.__dict__["sampler"] = "grid"
        if self.sampler == "grid":
            for space in self.spaces:
                check_grid(space, "random")
            sizes = {kind: num_points(self.space_of(kind)) for kind in self.optimizers}
            if len(set(sizes.values())) > 1:
                shown = ", ".join(f"{kind} has {number}" for kind, number in sizes.items())
                raise ValueError(
                    f"in a grid, all optimizers must have equally many points, but {shown}"
                )
        return self


def _check_choices(name: str, found: Range | Choices) -> None:
    if isinstance(found, Range):
        if name in WHOLE:
            raise ValueError(f"{name} is a whole number: list its values")
    elif len(set(found)) < max(2, len(found)):
        raise ValueError(f"{name} needs two choices or more, which differ: {list(found)}")


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


def _not_searched(name: str) -> str:
    """What to do about a setting that has no place in a space."""
    if name == f"{OPTIMIZER}kind":
        return f"{name} can be an axis of the grid; sweep.pretrain.optimizers gives each a space"
    if near_name(name, SEARCHED) or name.split(".")[0] not in Pretrain.model_fields:
        return unknown_name("the pretraining setting", name, SEARCHED)
    return (
        f"{name} cannot be searched, but can be an axis of the grid: trials are compared by "
        "held-out loss, of which text, tokens, objective, network and budget must be the same; "
        f"searched are {', '.join(SEARCHED)}"
    )
