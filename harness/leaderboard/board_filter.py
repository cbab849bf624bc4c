"""Selects the arms of a leaderboard over a store."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.models import SIZES
from harness.pretraining.budget import Budget
from harness.store.recorded import RecordedExperiment


@dataclass(frozen=True)
class BoardFilter:
    """Conditions on arms; null selects all."""

    tag: str | None = None
    """A tag of the experiment."""
    size: str | None = None
    """A name in `SIZES`."""
    budget: str | None = None
    """Such as `tokens=2_000_000`; arms without pretraining are always selected."""

    def __post_init__(self) -> None:
        """Checks the conditions.

        Raises:
            ValueError: an unknown size, or a budget that is not unit=number.
        """
        if self.size:
            _size(self.size)
        if self.budget:
            _budget(self.budget)

    def __str__(self) -> str:
        given = {"tag": self.tag, "size": self.size, "budget": self.budget}
        return ", ".join(f"{name} {value}" for name, value in given.items() if value)

    def arms(self, experiment: RecordedExperiment) -> list[str]:
        """Names of the selected arms of an experiment."""
        if self.tag and self.tag not in experiment.spec["experiment"].get("tags", ()):
            return []
        arms = experiment.spec["arms"].items()
        return [name for name, arm in arms if self._takes(arm["pretrain"])]

    def _takes(self, pretrain: Mapping[str, Any]) -> bool:
        if self.size and pretrain["size"] != _size(self.size):
            return False
        if not self.budget:
            return True
        unit, number = _budget(self.budget)
        spent = {name: value for name, value in pretrain["budget"].items() if value is not None}
        return spent == {unit: number} or not any(spent.values())

    def imported(self, scores: pd.DataFrame) -> pd.DataFrame:
        """The selected imported scores, which have a budget in tokens and FLOPs, but neither size
        nor tags."""
        if self.size or self.tag:
            return scores[:0]
        if not self.budget:
            return scores
        unit, number = _budget(self.budget)
        spent = scores.get(f"budget_{unit}", pd.Series(index=scores.index, dtype=float))
        return scores[spent.isin([0, number])]


def _size(name: str) -> dict[str, Any]:
    if name not in SIZES:
        raise ValueError(f"unknown size {name!r}; known: {', '.join(SIZES)}")
    return SIZES[name].model_dump(mode="json")


def _budget(text: str) -> tuple[str, float]:
    units = tuple(Budget.model_fields)
    unit, _, number = text.partition("=")
    try:
        if unit in units and 0 <= float(number) < math.inf:
            return unit, float(number)
    except ValueError:
        pass
    raise ValueError(
        f"a budget must be {'|'.join(units)}=NUMBER with a number from 0, not {text!r}"
    )
