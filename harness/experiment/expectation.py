"""What an experiment expects of its arms, to be confirmed or refuted: the forms."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from harness.core.config import ConfigModel
from harness.experiment.expectation_base import BaseExpectation, Side
from harness.experiment.expectation_text import parsed
from harness.experiment.outcomes import quantities_of, ranked_by


class Comparison(BaseExpectation):
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


class Equality(BaseExpectation):
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
        return f"{self.first} = {self.second} within {self.margin:_.12g}"


class NonInferiority(BaseExpectation):
    """An arm is not worse than another by a margin or more: it may be better, too (Piaggio et al.
    2012, "Reporting of noninferiority and equivalence randomized trials", JAMA 308)."""

    candidate: str
    reference: str
    margin: float = Field(gt=0)
    """In points or in the unit of the quantity."""

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """Candidate minus reference."""
        return [(self.candidate, 1.0), (self.reference, -1.0)]

    @property
    def bound(self) -> float:
        """As many points less, or as much more of a quantity."""
        return self.margin if self.quantities else -self.margin

    @property
    def text(self) -> str:
        """`a >= b within 2`"""
        return f"{self.candidate} {self.sign}= {self.reference} within {self.margin:_.12g}"


class Level(BaseExpectation):
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
        return f"{self.arm} {self.side} {self.level:_.12g}"


class Interaction(BaseExpectation):
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


class Trend(BaseExpectation):
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


class Both(BaseExpectation):
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


class RankAgreement(BaseExpectation):
    """Four arms or more are ordered by one outcome as by another: Kendall's tau of their means, the
    better first in both, lies above or below a level."""

    ranked: tuple[str, ...] = Field(min_length=4)
    side: Side
    level: float = Field(ge=-1, le=1)

    @model_validator(mode="after")
    def _can_be_ranked(self) -> "RankAgreement":
        if repeated := [arm for arm, number in Counter(self.ranked).items() if number > 1]:
            raise ValueError(f"arms must be named once, but {repeated[0]!r} is named again")
        if self.level == (1 if self.side == "above" else -1):
            raise ValueError(f"tau cannot lie {self.side} {self.level:g}; choose another level")
        named = [one for part in self.by for one in quantities_of(part)]
        if len(named) == 2 and all(one.is_counted for one in named):
            raise ValueError("an outcome of a rank agreement must vary between runs, but none does")
        if self.predicted is not None:
            raise ValueError("predicted has no effect on a rank agreement, whose level is declared")
        return self

    @property
    def by(self) -> tuple[str, str]:
        """The outcomes that rank the arms.

        Raises:
            ValueError: the outcome is no rank agreement.
        """
        found = ranked_by(self.outcome)
        if not found:
            raise ValueError("arms are ranked by 'rank agreement of OUTCOME and OUTCOME'")
        return found

    @property
    def unit(self) -> str:
        """Of the difference from the level."""
        return f"of Kendall's tau from {self.level:g}"

    @property
    def expected_side(self) -> Side:
        """As declared."""
        return self.side

    @property
    def terms(self) -> Sequence[tuple[str, float]]:
        """The arms, each of which counts alike."""
        return [(arm, 1.0) for arm in self.ranked]

    @property
    def text(self) -> str:
        """`a, b, c, d above 0.5`"""
        return f"{', '.join(self.ranked)} {self.side} {self.level:g}"

    def __str__(self) -> str:
        return f"{self.text} in {self.outcome}"


def _form(value: Any) -> str:
    if isinstance(value, Mapping):
        fields = set(value)
    else:
        fields = set(type(value).model_fields) if isinstance(value, ConfigModel) else set()
    if "margin" in fields:
        return "non-inferiority" if "reference" in fields else "equality"
    if "pairs" in fields:
        return "both"
    if "ranked" in fields:
        return "rank agreement"
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
    | Annotated[NonInferiority, Tag("non-inferiority")]
    | Annotated[RankAgreement, Tag("rank agreement")]
    | Annotated[Trend, Tag("trend")],
    Discriminator(_form),
    BeforeValidator(parsed, json_schema_input_type=str | Mapping[str, Any]),
]
"""An expectation, which a user writes as its text or as {outcome: text}."""
