"""The experiment as a user declares it: question, base, axes, seeds and search."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from harness.core.compute import Compute
from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.core.names import ExperimentName, Name
from harness.experiment.claims import CLAIMS
from harness.experiment.evaluation import Evaluate
from harness.experiment.expectation import Expectation
from harness.finetuning.search.sweep import Sweep

MAX_SEEDS = 1_000


class Seeds(ConfigModel):
    """Seeds of the replicates: a list, or a number n for 0 .. n-1."""

    pretrain: tuple[int, ...] = (0,)
    finetune: tuple[int, ...] = (0,)
    world: Literal["fixed", "per_seed"] = "fixed"
    """`per_seed`: each pretraining seed has the micro-world of its number, with its own words,
    facts, text, tokenizer, tasks and probes, which all arms share. Differences are then about
    worlds of this kind, not about one."""
    looks: tuple[int, ...] = ()
    """Numbers of pretraining seeds, before the last, at which verdicts are made: `[3, 5]`. Each
    look has a level of its own, so that all looks together err in 5 %."""
    spending: Literal["obrien_fleming", "pocock"] = "obrien_fleming"
    """How much of the 5 % early looks may spend (Lan & DeMets 1983): hardly any, or nearly as much
    as the last."""

    @property
    def in_worlds(self) -> bool:
        """Whether each pretraining seed has a world of its own."""
        return self.world == "per_seed"

    @property
    def looks_text(self) -> str:
        """The looks as they are declared, in one line; empty without looks."""
        if not self.looks:
            return ""
        numbers = ", ".join(map(str, self.looks))
        return f"looks at {numbers} of {len(self.pretrain)} seeds ({self.spending})"

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
        valid = all(0 <= seed < 2**32 for seed in seeds)  # the range that torch and numpy share
        if not seeds or len(seeds) > MAX_SEEDS or len(set(seeds)) < len(seeds) or not valid:
            raise ValueError(
                f"must be 1 to {MAX_SEEDS} distinct numbers from 0 to 2^32 - 1, "
                f"but is {list(seeds)[:8]}"
            )
        return seeds

    @model_validator(mode="after")
    def _looks_before_the_end(self) -> "Seeds":
        if not self.looks and self.spending != "obrien_fleming":
            raise ValueError(f"spending {self.spending} needs `looks`, but none are declared")
        numbers, end = [1, *self.looks, len(self.pretrain)], len(self.pretrain)
        if self.looks and not all(before < after for before, after in pairwise(numbers)):
            raise ValueError(
                f"looks must be increasing numbers of pretraining seeds from 2 to {end - 1}, as "
                f"the last is at {end}, but are {list(self.looks)}"
            )
        return self


def _axis_kind(value: Any) -> str:
    return "bundles" if isinstance(value, Mapping) else "values"


Axis = Annotated[
    Annotated[tuple[Any, ...], Tag("values")]
    | Annotated[Mapping[str, Mapping[str, Any]], Tag("bundles")],
    Discriminator(_axis_kind),
]
"""Values of one field, or label to values of several fields (dotted path to value)."""


class Experiment(ConfigModel):
    """A question, a base, the axes that vary, and how arms are evaluated."""

    name: ExperimentName
    """Lower-case letters, digits, - and _."""
    question: str = Field(min_length=1)
    source: str = ""
    """The source of the claim, such as a paper."""
    tags: tuple[Name, ...] = ()
    """Labels that select experiments: `harness leaderboard SUITE --tag TAG`."""
    expect: tuple[Expectation, ...] = ()
    """Expected outcomes, one or a list: 'arm > arm', 'arm > arm > arm' (a trend),
    'arm - arm > arm - arm', 'arm = arm within 2', 'arm > arm and arm > arm'. They are about the
    average; '{COLUMN: arm > arm}' about a column of the suite, '{PROBE: arm > arm}' about a probe,
    '{PROBE/CATEGORY: arm > arm}' about a category of it, '{loss: arm < arm}' about held-out loss,
    '{bits_per_byte: arm < arm}' about held-out bits per byte, '{tokens to 60 on COLUMN: arm < arm}'
    about the tokens until a score reaches a level, so with 'labels to' and 'epochs to'; '{rank
    agreement of average and loss: "arm, arm, arm, arm above 0.5"}' about Kendall's tau of arms by
    two outcomes."""
    claims: Mapping[str, tuple[Expectation, ...]] = Field(default_factory=dict)
    """Id of a claim of the literature (`docs/findings.md`) to the expectations that test it, one or
    a list. They are judged as those of `expect`."""
    threats: tuple[str, ...] = ()
    """Threats to validity that no automatic check finds: sentences for the report."""
    pretrain: Mapping[str, Any] = Field(default_factory=dict)
    """Fields of a pretraining run; the recipe provides the others. May be absent if an axis sets
    some in every arm."""
    grid: Mapping[str, Axis] = Field(default_factory=dict)
    """Axis to values. An axis is a dotted path with the values of that field, or any name with
    labelled sets of fields (label to {dotted path: value})."""
    arms: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Arm of the grid to the fields that it alone changes, as dotted path to value."""
    seeds: Seeds = Seeds()
    evaluate: Evaluate = Evaluate()
    sweep: Sweep = Sweep()
    compute: Compute = Compute()
    plugins: tuple[str, ...] = ()
    """Modules, or entry points of the group `pretraining_harness.plugins`, that add members to the
    registries. Their source is part of the keys of the stages that use their members."""

    @field_validator("sweep", mode="before", json_schema_input_type=Sweep | None)
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @field_validator(
        "expect", mode="before", json_schema_input_type=Expectation | list[Expectation]
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, (str, Mapping)) else as_tuples(value)

    @field_validator(
        "claims",
        mode="before",
        json_schema_input_type=Mapping[str, Expectation | list[Expectation]],
    )
    @classmethod
    def _lists(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: cls._one_or_many(expected) for name, expected in value.items()}

    @field_validator("claims")
    @classmethod
    def _known(cls, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in claims:
            if name not in CLAIMS:
                raise ValueError(unknown_name("the claim", name, CLAIMS))
        return claims

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """Those of `expect` and of `claims`."""
        tested = [one for several in self.claims.values() for one in several]
        return tuple(dict.fromkeys([*self.expect, *tested]))

    def claims_of(self, expectation: Expectation) -> list[str]:
        """Ids of the claims that an expectation tests."""
        return [name for name, several in self.claims.items() if expectation in several]
