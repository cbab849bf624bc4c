"""What an archive says of its stages; documented in `docs/results.md`.

An archive is a tar file compressed by xz, which any tar program opens: MANIFEST, then the files of
each stage as `<key>/<file>`.
"""

from typing import Any

from pydantic import ConfigDict, Field

from harness.core.config import ConfigModel
from harness.store.declared import Declared
from harness.store.looks import MadeLook

FORMAT = 1
MANIFEST = "archive.json"
FILE = "stages.tar.xz"
"""Name of an archive beside the report that is made from it."""


class ArchivedStage(ConfigModel):
    """A finished stage, with the fields of `harness.store.store.StageResult`."""

    model_config = ConfigDict(allow_inf_nan=True)  # metrics of diverged runs

    key: str
    kind: str
    label: str
    spec: dict[str, Any]
    """With its `parents`."""
    metrics: dict[str, float]
    made_with: str
    adopted: str
    left_out: str
    digest: str
    """Of its files in the archive (`harness.store.artifacts.digest`)."""


class Manifest(ConfigModel):
    """The content of MANIFEST."""

    format: int
    experiment: str
    variants: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    """With which the experiment's file was read (`harness.experiment.declaration.Declaration`)."""
    declared: dict[str, Declared]
    """Expectation to the first run with it."""
    looks: dict[int, MadeLook] = Field(default_factory=dict)
    """Number of seeds to the first time that its verdicts were shown; empty in archives of earlier
    versions."""
    stages: tuple[ArchivedStage, ...]
    """Parents before children."""
