"""What a backend receives for one stage, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pydantic takes time to import, and the command line lists the backends
    from harness.core.compute import Compute
    from harness.store.artifacts import Artifact


@dataclass(frozen=True)
class StageJob:
    """A stage to compute: plain values and artifact addresses, without paths of this machine.

    A declared corpus or checkpoint folder is part of `spec` as the user wrote it, and a store
    without a server has `file:` addresses: both must be readable wherever the stage is computed.
    """

    kind: str
    key: str
    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    inputs: "Mapping[str, Artifact]"
    """Role to the files of a parent stage."""
    compute: "Compute"
    """Accelerator, devices, strategy and precision."""


@dataclass(frozen=True)
class StageOutput:
    """What a stage returns besides its files."""

    metrics: Mapping[str, float | None]
    made_with: str
    """Packages and machine, in one line."""
