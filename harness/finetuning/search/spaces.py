"""Search spaces of fine-tuning: the dimensions a sweep may declare, and the published grids."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from harness.core.config import ConfigModel

ADAPTATION_PREFIX = "adaptation."
"""Prefix of the fields of an adaptation in a space."""


class Range(ConfigModel):
    """Numbers between two inclusive bounds."""

    low: float
    high: float
    log: bool = False
    """Whether to sample uniformly on a logarithmic scale."""

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low <= self.high:
            raise ValueError(f"low <= high must hold, but got low={self.low}, high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a log range needs low > 0, but got low={self.low}")
        return self


Choice = float | int | bool | str
Choices = Annotated[tuple[Choice, ...], Field(min_length=1)]


def _kind(value: Any) -> str:
    return "range" if isinstance(value, (Range, Mapping)) else "choices"


Dimension = Annotated[
    Annotated[Range, Tag("range")] | Annotated[Choices, Tag("choices")], Discriminator(_kind)
]
"""A range, or a list of choices."""

SPACES: dict[str, Mapping[str, Dimension]] = {
    # Devlin et al. 2019, appendix A.3
    "bert_grid": {
        "batch_size": (16, 32),
        "learning_rate": (5e-5, 3e-5, 2e-5),
        "epochs": (2, 3, 4),
    },
    # Liu et al. 2019, appendix C, table 10
    "roberta_grid": {"batch_size": (16, 32), "learning_rate": (1e-5, 2e-5, 3e-5)},
    # google-research/bert README, the smaller models of Turc et al. 2019
    "small_bert_grid": {
        "batch_size": (8, 16, 32, 64, 128),
        "learning_rate": (3e-4, 1e-4, 5e-5, 3e-5),
    },
    # Clark et al. 2020 (ELECTRA), appendix B, of the base size
    "electra_grid": {
        "learning_rate": (3e-5, 5e-5, 1e-4, 1.5e-4),
        "layer_decay": (0.9, 0.8, 0.7),
    },
    # Houlsby et al. 2019, section 3.2; for the adaptation `adapters`
    "adapter_grid": {
        "adaptation.bottleneck": (8, 64, 256),
        "learning_rate": (3e-5, 3e-4, 3e-3),
        "epochs": (3, 20),
    },
}
"""Name to space. A grid with more points than trials is tried in a shuffled order that depends on
the space alone."""


def points(space: Mapping[str, Dimension]) -> list[dict[str, Choice]]:
    """Every combination of the choices, without ranges."""
    axes = [
        [(name, value) for value in dimension]
        for name, dimension in space.items()
        if not isinstance(dimension, Range)
    ]
    return [dict(point) for point in itertools.product(*axes)]
