"""Arguments and results of stage functions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from harness.core.compute import Compute
from harness.data.corpora.sources import Corpus, TaskCorpus
from harness.models.checkpoints import files

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
    """Folder for caches and the Optuna database, shared by stages."""
    key: str
    compute: Compute
    progress: Callable[..., None]
    """Called with (done, total, **figures) during the stage."""


def checkpoint_folder(context: StageContext) -> Path:
    """Folder of an imported checkpoint, downloaded if necessary."""
    spec = context.spec["checkpoint"]
    return files.fetch(spec["name"], spec["revision"])


def read_corpus(spec: Mapping[str, Any]) -> Corpus:
    """The corpus of a spec."""
    corpus: Corpus = TypeAdapter(Corpus).validate_python(spec)
    return corpus


def read_text(spec: Mapping[str, Any]) -> Corpus | TaskCorpus:
    """The corpus of a spec, or the texts of a task."""
    return TaskCorpus.model_validate(spec) if spec["source"] == "task" else read_corpus(spec)


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as indented JSON with sorted keys."""
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
