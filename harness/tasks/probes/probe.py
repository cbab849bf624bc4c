"""Probes as declared values, readable without their data."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from harness.core.config import ConfigModel
from harness.core.names import MetricPart
from harness.tasks.task import HubData, MicroworldData

OVERALL = "overall"
"""Column of the mean over the categories of a probe."""
UNSUPPORTED_FILE = "unsupported.txt"
"""File of a finished probe with the reason why it does not support the model."""


class Probe(ConfigModel):
    """A zero-shot test of a pretrained model, which ranks sentences by likelihood or writes their
    ends."""

    name: str
    kind: Literal["minimal_pairs", "cloze", "generation"]
    data: Annotated[HubData | MicroworldData, Field(discriminator="source")]
    categories: tuple[MetricPart, ...]
    """Categories that are reported separately; for Hub data, the configs."""
    fields: tuple[str, str] | None = None
    """Columns of the acceptable and the unacceptable sentence; None for the micro-world."""
    split: str | None = None
    """Split of the Hub data; None for the micro-world."""
    max_items: int | None = None
    """Number of items of each category, from the first; null takes all."""
    chance: float
    """Mean accuracy of random guesses over the categories, 0 to 1."""
    licence: str
    citation: str

    @field_validator("categories")
    @classmethod
    def _own_columns(cls, categories: tuple[str, ...]) -> tuple[str, ...]:
        if not categories or len({*categories, OVERALL}) <= len(categories):
            raise ValueError(
                f"must be one or more names, each once and none {OVERALL!r}, the mean over them, "
                f"but is {', '.join(categories) or 'empty'}"
            )
        return categories
