"""Arguments and results of stage functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.compute import Compute

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger

Metrics = dict[str, float | None]
"""Name to value; null if undefined."""


@dataclass(frozen=True)
class StageContext:
    """Arguments of a stage function, with all folders on this machine."""

    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    inputs: Mapping[str, Path]
    """Role to the folder of a parent stage."""
    out: Path
    """Empty folder for the files of this stage."""
    state: Path
    """Folder for checkpoints, kept until the stage is recorded."""
    shared: Path
    """Folder of the store, for caches that stages share."""
    compute: Compute
    progress: Callable[..., None]
    """Called with (done, total, **figures) during the stage."""
    loggers: "Callable[..., Sequence[Logger]]" = lambda prefix="": ()
    """New Lightning loggers of a training run. A stage with several runs gives each a prefix."""


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as indented JSON with sorted keys."""
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
