"""The trials of a search, whatever runs them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from harness.finetuning.search.space import Choice

WORST = -1.0
"""Value of a trial that diverged or has an undefined metric: the minimum of all metrics."""

State = Literal["complete", "diverged", "undefined", "pruned"]
"""How a trial ended."""


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    number: int
    value: float
    """Hold-out score after the last epoch, higher is better; WORST if undefined."""
    state: State
    """`undefined`: complete, but its metric has no value (the correlation of a constant)."""
    seconds: float
    epochs: int
    """Finished epochs."""
    params: Mapping[str, Choice]


def best(trials: list[Trial]) -> Trial:
    """The trial with the highest value, without pruned ones; the first of ties."""
    complete = [trial for trial in trials if trial.state != "pruned"]
    return max(complete, key=lambda trial: (trial.value, -trial.number))


def checksum(trial: Trial, reported: Mapping[int, float]) -> str:
    """A digest of a trial and of the hold-out scores by epoch that it reported.

    Raises:
        TypeError: a value is of no such type.
    """
    content = [asdict(trial), sorted(reported.items())]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
