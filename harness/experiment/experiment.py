"""What a user declares: a question, a base, the axes that vary, seeds and a search."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from harness.core.compute import Compute
from harness.core.config import ConfigModel, as_tuples
from harness.experiment.evaluation import Evaluate
from harness.finetuning.search.sweep import Sweep

MAX_SEEDS = 1_000


class Seeds(ConfigModel):
    """Replicates: a number n stands for 0 .. n-1."""

    pretrain: tuple[int, ...] = (0,)
    finetune: tuple[int, ...] = (0,)

    @field_validator("pretrain", "finetune", mode="before", json_schema_input_type=int | list[int])
    @classmethod
    def _count(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= MAX_SEEDS:
                raise ValueError(f"must be 1 to {MAX_SEEDS} replicates, but is {value}")
            return tuple(range(value))
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"must be a number of replicates or a list of seeds, but is {value!r}")
        return as_tuples(value)

    @field_validator("pretrain", "finetune")
    @classmethod
    def _distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        valid = all(0 <= seed < 2**32 for seed in seeds)  # what torch and numpy both take
        if not seeds or len(seeds) > MAX_SEEDS or len(set(seeds)) < len(seeds) or not valid:
            raise ValueError(
                f"must be 1 to {MAX_SEEDS} distinct numbers from 0 to 2^32 - 1, "
                f"but is {list(seeds)[:8]}"
            )
        return seeds


class Comparison(ConfigModel):
    """An expectation to confirm or refute: `better` scores above `worse`."""

    better: str
    worse: str

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        sides = [side.strip() for side in value.split(">")]
        if len(sides) != 2 or not all(sides):
            raise ValueError(f"an expectation must have the form 'arm > arm', but is {value!r}")
        return {"better": sides[0], "worse": sides[1]}


def _axis_kind(value: Any) -> str:
    return "bundles" if isinstance(value, Mapping) else "values"


Axis = Annotated[
    Annotated[tuple[Any, ...], Tag("values")]
    | Annotated[Mapping[str, Mapping[str, Any]], Tag("bundles")],
    Discriminator(_axis_kind),
]
"""Values of one field, or named bundles of several fields (dotted path to value)."""


class Experiment(ConfigModel):
    """A question, a base, the axes that vary, and how the answer is judged."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    """Lower-case letters, digits, - and _."""
    question: str = Field(min_length=1)
    source: str = ""
    """Where the claim comes from."""
    tags: tuple[str, ...] = ()
    """Words to find it by among others: `harness leaderboard SUITE --tag WORD`."""
    expect: tuple[Comparison, ...] = ()
    """What the source says will come out: 'arm > arm', one or a list."""
    threats: tuple[str, ...] = ()
    """What could make the outcome other than it looks and no check can see: sentences that the
    report shows among its threats."""
    pretrain: Mapping[str, Any]
    """Fields of a pretraining run; what is not set comes from the recipe."""
    grid: Mapping[str, Axis] = Field(default_factory=dict)
    """Axis to values. An axis named by a dotted path varies that field; another name varies the
    bundles it lists."""
    seeds: Seeds = Seeds()
    evaluate: Evaluate = Evaluate()
    sweep: Sweep = Sweep()
    compute: Compute = Compute()
    plugins: tuple[str, ...] = ()
    """Modules, or entry points of the group `pretraining_harness.plugins`, whose members join the
    families; their source is part of the keys of the stages that can use them."""

    @field_validator(
        "expect",
        mode="before",
        json_schema_input_type=str | Comparison | list[str | Comparison],
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, (str, Mapping)) else as_tuples(value)
