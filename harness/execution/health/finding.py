"""What a check of `harness doctor` has found."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]
"""A problem keeps runs from ending well; a warning may."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    state: State
    found: str
    """What is there, in one line."""
    advice: str = ""
    """What to do about it; empty if it is ok."""
