"""What every stage is given, and what it leaves."""

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
class Job:
    """One stage to do."""

    spec: Mapping[str, Any]
    inputs: Mapping[str, Path]
    """Role to the folder that the parent stage left."""
    out: Path
    """Empty folder for what this stage leaves."""
    state: Path
    """Folder kept until the stage is finished, for checkpoints."""
    shared: Path
    """Folder of the store, for the database of the sweeps."""
    key: str
    compute: Compute
    progress: Callable[..., None]
    """Called with (done, total, **figures)."""


def checkpoint_folder(job: Job) -> Path:
    """Folder of someone else's checkpoint, downloaded where it must be."""
    spec = job.spec["checkpoint"]
    return files.fetch(spec["name"], spec["revision"])


def read_corpus(spec: Mapping[str, Any]) -> Corpus:
    corpus: Corpus = TypeAdapter(Corpus).validate_python(spec)
    return corpus


def read_text(spec: Mapping[str, Any]) -> Corpus | TaskCorpus:
    """A corpus, or that the texts of a task are meant."""
    return TaskCorpus.model_validate(spec) if spec["source"] == "task" else read_corpus(spec)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
