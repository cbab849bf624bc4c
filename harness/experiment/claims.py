"""Claims about pretraining, as the literature and courses make them, which experiments test."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LiteratureClaim:
    """A claim, stated so that results can confirm or refute it."""

    id: str
    """`E1`"""
    area: str
    claim: str
    compare: str
    """What to compare, with published figures where there are any."""


def _read(path: Path) -> dict[str, LiteratureClaim]:
    with path.open(newline="") as file:
        return {row["id"]: LiteratureClaim(**row) for row in csv.DictReader(file)}


CLAIMS: Mapping[str, LiteratureClaim] = _read(Path(__file__).with_name("claims.csv"))
"""Id to claim, in the order of the areas."""
