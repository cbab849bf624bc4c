"""Names of stages: a hash of everything that can change an outcome."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.experiment.named_values import ROLES
from harness.pretraining.recipes.pretrain import Pretrain

STAGE_VERSIONS = {
    "tokenizer": 1,
    "tokens": 2,
    "pretrain": 3,
    "continued": 1,
    "loss": 1,
    "probe": 1,
    "trial": 1,
    "tune": 4,
    "finetune": 3,
    "learn": 1,
}
"""Raised when the code of a stage changes what it computes; part of every key of that kind."""


def stage_key(kind: str, spec: Mapping[str, Any], parents: Mapping[str, str]) -> str:
    """16 hexadecimal digits over all that can change the outcome: not where local text lies."""
    corpus = spec.get("corpus", {})
    if corpus.get("source") in ("text", "jsonl"):
        corpus = {name: value for name, value in corpus.items() if name != "path"}
        spec = {**spec, "corpus": corpus}
    if "checkpoint" in spec and kind in ("tokenizer", "pretrain"):  # its content is its fingerprint
        spec = {name: value for name, value in spec.items() if name != "checkpoint"}
    if "vectors" in spec:  # their content, which is in the key already
        run = spec["pretrain"]
        spec = {**spec, "pretrain": {**run, "model": {**run["model"], "vectors": None}}}
    if "content" in spec:
        spec = {**spec, "content": _without_paths(spec["content"])}
    if "tasks" in spec:
        tasks = [{**task, "content": _without_paths(task["content"])} for task in spec["tasks"]]
        spec = {**spec, "tasks": tasks}
    content = [kind, STAGE_VERSIONS[kind], _without_nulls(spec), parents]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def run_content(run: Pretrain) -> dict[str, Any]:
    """What a run is told: the text reaches it through its parents, and the recipe's name changes
    nothing."""
    spec = run.model_dump(exclude={"recipe", "corpus", *ROLES})
    others = {role: getattr(run, role) for role in ROLES}
    return spec | {role: run_content(other) if other else None for role, other in others.items()}


def _without_nulls(value: Any) -> Any:
    """Null says the same as a field that is not there: a new field leaves old keys as they are."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


def _without_paths(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task of files without where they lie; the fingerprint is of what is in them."""
    data = content.get("data", {})
    if "files" not in data:
        return content
    return {**content, "data": {**data, "files": sorted(data["files"])}}
