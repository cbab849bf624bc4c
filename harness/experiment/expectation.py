"""What an experiment expects of its arms, to be confirmed or refuted."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from harness.core.config import ConfigModel
from harness.experiment.expectation_text import parsed
from harness.experiment.outcomes import AVERAGE, GAP, POINTS, Quantity, quantities_of, reached_level

Side = Literal["above", "below"]


class _Expectation(ConfigModel):
    """An expected contrast: a weighted sum over arms."""

    outcome: str = AVERAGE
    """`average`, a column of the suite, a probe or one of its categories (`blimp/wh_island`), one
    of QUANTITIES, one of these minus another (`in-domain - shifted`), or the tokens until a score
    reaches a level (`tokens to 60 on CoLA`)."""
    predicted: float | None = Field(default=None, allow_inf_nan=False)
    """The sum that is predicted, in points or in the unit of the quantity."""

    @field_validator("outcome")
    @classmethod
    def _has_a_level(cls, outcome: str) -> str:
        reached_level(outcome)
        return outcome

    @property
    def declared_as(self) -> str:
        """The expectation with what is predicted."""
        return str(self) if self.predicted is None else f"{self}, predicted {self.predicted:+g}"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Those that it is about (`quantities_of`)."""
        return quantities_of(self.outcome)

    @property
    def unit(self) -> str:
        """Of the sum."""
        return self.quantities[0].unit if self.quantities else POINTS

    @property
    def is_counted(self) -> bool:
        """Whether the outcome is the same in every run."""
        return bool(self.quantities) and all(one.is_counted for one in self.quantities)

    @property
    def expected_side(self) -> Side:
        """Of zero, where the sum is expected, except that of an `Equality`."""
        return "below" if self.quantities else "above"

    @property
    def sign(self) -> str:
        """Between the better and the worse."""
        return "<" if self.quantities else ">"

    @property
    @abstractmethod
    def terms(self) -> Sequence[tuple[str, float]]:
        """Arms and their weights in the sum; an arm may have several terms."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The expectation without its outcome."""

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms, in order."""
        return tuple(dict.fromkeys(arm for arm, _ in self.terms))

    @property
    def weights(self) -> dict[str, float]:
        """Arm to its weight in the sum, which is expected above zero, of QUANTITIES below zero, or
        of an `Equality` near zero."""
        found = dict.fromkeys(self.arms, 0.0)
        for arm, weight in self.terms:
            found[arm] += weight
        return found

    @property
    def cancelled(self) -> list[str]:
        """Arms whose terms add up to nothing."""
        named = Counter(arm for arm, _ in self.terms)
        return [arm for arm, weight in self.weights.items() if not weight and named[arm] > 1]

    def __str__(self) -> str:
        if self.quantities:
            return f"{self.text} in {GAP.join(one.label for one in self.quantities)}"
        return self.text if self.outcome == AVERAGE else f"{self.text} on {self.outcome}"


class Comparison(_Expectation):
    """Arm `better` has a higher score than arm `worse`, or less of a quantity."""

    better: str
    worse: str

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """Better minus worse."""
        return [(self.better, 1.0), (self.worse, -1.0)]

    @property
    def text(self) -> str:
        """`a > b`"""
        return f"{self.better} {self.sign} {self.worse}"


class Equality(_Expectation):
    """Two arms differ by less than a margin, in points or in the unit of the quantity."""

    first: str
    second: str
    margin: float = Field(gt=0)

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """First minus second."""
        return [(self.first, 1.0), (self.second, -1.0)]

    @property
    def text(self) -> str:
        """`a = b within 2`"""
        return f"{self.first} = {self.second} within {self.margin:g}"


class Level(_Expectation):
    """An outcome of an arm lies above or below a fixed level, in points or in the unit of the
    quantity."""

    arm: str
    side: Side
    level: float = Field(allow_inf_nan=False)

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """The arm, whose difference from the level is the sum."""
        return [(self.arm, 1.0)]

    @property
    def expected_side(self) -> Side:
        """As declared: of quantities, too, more may be expected."""
        return self.side

    @property
    def text(self) -> str:
        """`a above 50`"""
        return f"{self.arm} {self.side} {self.level:g}"


class Interaction(_Expectation):
    """One difference between two arms is larger than another; of quantities, smaller."""

    better: tuple[str, str]
    worse: tuple[str, str]

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """(a - b) - (c - d)"""
        (a, b), (c, d) = self.better, self.worse
        return [(a, 1.0), (b, -1.0), (c, -1.0), (d, 1.0)]

    @property
    def text(self) -> str:
        """`a - b > c - d`"""
        return f"{' - '.join(self.better)} {self.sign} {' - '.join(self.worse)}"


class Trend(_Expectation):
    """The scores of three or more arms fall along their list, or quantities rise: the linear
    trend, with even steps between the arms."""

    ordered: tuple[str, ...] = Field(min_length=3)
    """From best to worst."""

    @field_validator("ordered")
    @classmethod
    def _distinct(cls, arms: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := [arm for arm, number in Counter(arms).items() if number > 1]:
            raise ValueError(f"a trend must name each arm once, but names {repeated[0]!r} again")
        return arms

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Pairs of neighbours, better one first."""
        return list(pairwise(self.ordered))

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """The change from the last arm to the first on the line of least squares."""
        steps = [(len(self.ordered) - 1) / 2 - place for place in range(len(self.ordered))]
        scale = (len(self.ordered) - 1) / sum(step**2 for step in steps)
        return [(arm, scale * step) for arm, step in zip(self.ordered, steps, strict=True)]

    @property
    def text(self) -> str:
        """`a > b > c`"""
        return f" {self.sign} ".join(self.ordered)


class Both(_Expectation):
    """Two comparisons that must both hold, such as of curves that cross: `a` leads at one budget
    and `b` at another."""

    pairs: tuple[tuple[str, str], tuple[str, str]]
    """Better and worse arm of each comparison."""

    @model_validator(mode="after")
    def _are_two(self) -> "Both":
        (first, second), (third, fourth) = self.pairs
        if {first, second} == {third, fourth}:
            raise ValueError(
                f"two comparisons must be about different arms, but both are about {first!r} and "
                f"{second!r}"
            )
        if self.predicted is not None:
            raise ValueError("predicted must be that of one difference, but 'and' joins two")
        return self

    @property
    def parts(self) -> tuple[Comparison, Comparison]:
        """Each comparison alone."""
        first, second = (
            Comparison(outcome=self.outcome, better=better, worse=worse)
            for better, worse in self.pairs
        )
        return first, second

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """Those of both comparisons, which are judged each for itself."""
        return [term for part in self.parts for term in part.terms]

    @property
    def cancelled(self) -> list[str]:
        """Arms that a comparison compares with themselves."""
        return [arm for part in self.parts for arm in part.cancelled]

    @property
    def text(self) -> str:
        """`a > b and c > d`"""
        return " and ".join(part.text for part in self.parts)


def _form(value: Any) -> str:
    if isinstance(value, Mapping):
        fields = set(value)
    else:
        fields = set(type(value).model_fields) if isinstance(value, ConfigModel) else set()
    if "margin" in fields:
        return "equality"
    if "pairs" in fields:
        return "both"
    if "ordered" in fields:
        return "trend"
    if "level" in fields:
        return "level"
    better = value.get("better") if isinstance(value, Mapping) else getattr(value, "better", None)
    return "interaction" if isinstance(better, tuple) else "comparison"


Expectation = Annotated[
    Annotated[Both, Tag("both")]
    | Annotated[Comparison, Tag("comparison")]
    | Annotated[Equality, Tag("equality")]
    | Annotated[Interaction, Tag("interaction")]
    | Annotated[Level, Tag("level")]
    | Annotated[Trend, Tag("trend")],
    Discriminator(_form),
    BeforeValidator(parsed, json_schema_input_type=str | Mapping[str, Any]),
]
"""An expectation, which a user writes as its text or as {outcome: text}."""
