"""What all forms of expectations have in common."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from harness.core.config import ConfigModel
from harness.experiment.outcomes import (
    AVERAGE,
    GAP,
    POINTS,
    Quantity,
    quantities_of,
    reached_level,
)

Side = Literal["above", "below"]


class BaseExpectation(ConfigModel):
    """An expected contrast: a weighted sum over arms."""

    outcome: str = AVERAGE
    """`average`, a column of the suite, a probe or one of its categories (`blimp/wh_island`), one
    of QUANTITIES, one of these minus another (`in-domain - shifted`), or the tokens, labels
    or epochs until a score reaches a level (`tokens to 60 on CoLA`)."""
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
        """Of `bound`, where the sum is expected, except that of an `Equality`."""
        return "below" if self.quantities else "above"

    @property
    def bound(self) -> float:
        """What the sum is expected to lie above or below, except that of an `Equality`."""
        return 0.0

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
