"""What a probe is: metadata that can be read without the data."""

from typing import Annotated, Literal

from pydantic import Field

from harness.core.config import ConfigModel
from harness.tasks.task import HubData, MicroworldData

UNSUPPORTED_FILE = "unsupported.txt"
"""File of a finished probe that says why its model cannot be asked."""


class Probe(ConfigModel):
    """A zero-shot test of a pretrained model: it chooses between sentences, and learns nothing."""

    name: str
    kind: Literal["minimal_pairs", "cloze"]
    data: Annotated[HubData | MicroworldData, Field(discriminator="source")]
    categories: tuple[str, ...]
    """What is reported apart; of Hub data, the configs, each of which is a category."""
    fields: tuple[str, str] | None = None
    """Columns of the acceptable and of the unacceptable sentence; None for the micro-world."""
    split: str | None = None
    """Split of the Hub data that is read; None for the micro-world."""
    max_items: int | None = None
    """The first so many items of each category; null takes all."""
    chance: float
    """Mean over the categories of what a guess scores, from 0 to 1."""
    licence: str
    citation: str
