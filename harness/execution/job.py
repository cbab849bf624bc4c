"""A stage as it travels to whoever computes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.compute import Compute
from harness.store.artifacts import Artifact


@dataclass(frozen=True)
class StageJob:
    """Plain values and artifact addresses: no path that only one machine knows."""

    kind: str
    key: str
    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    inputs: Mapping[str, Artifact]
    """Role to the files that a parent stage left."""
    compute: Compute


@dataclass(frozen=True)
class StageOutput:
    """What a stage gives beside its files."""

    metrics: Mapping[str, float | None]
    made_with: str
    """Packages and machine, in one line."""
