"""Arguments and results of a stage."""

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


@dataclass(frozen=True)
class StageContext:
    """The arguments of a stage, with all folders on this machine."""

    spec: Mapping[str, Any]
    inputs: Mapping[str, Path]
    """Role to the folder that a parent stage left."""
    out: Path
    """Empty folder for the files of this stage."""
    state: Path
    """Folder for checkpoints, kept until the stage is finished."""
    shared: Path
    """Folder for caches and the database of searches."""
    key: str
    compute: Compute
    progress: Callable[..., None]
    """Called with (done, total, **figures)."""


def checkpoint_folder(context: StageContext) -> Path:
    """The folder of an imported checkpoint, downloaded if need be."""
    spec = context.spec["checkpoint"]
    return files.fetch(spec["name"], spec["revision"])


def read_corpus(spec: Mapping[str, Any]) -> Corpus:
    """A corpus from its plain data."""
    corpus: Corpus = TypeAdapter(Corpus).validate_python(spec)
    return corpus


def read_text(spec: Mapping[str, Any]) -> Corpus | TaskCorpus:
    """A corpus, or the texts of a task, from plain data."""
    return TaskCorpus.model_validate(spec) if spec["source"] == "task" else read_corpus(spec)


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as indented JSON with sorted keys."""
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
