"""Stage keys: hashes of everything that can change the result of a stage."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.experiment.recipe_defaults import ROLES
from harness.plan.stage_kinds import STAGE_KINDS
from harness.pretraining.recipes.pretrain import Pretrain


def stage_key(kind: str, spec: Mapping[str, Any], parents: Mapping[str, str]) -> str:
    """The key of a stage: 16 hexadecimal digits. Paths of local files are not part of it. For the
    arguments, see `Stage`."""
    corpus = spec.get("corpus", {})
    if corpus.get("source") in ("text", "jsonl"):
        spec = {**spec, "corpus": _without(corpus, "path")}
    if kind in ("tokenizer", "pretrain"):  # the fingerprint identifies a checkpoint, not its name
        spec = _without(spec, "checkpoint")
    if "vectors" in spec:  # the digest of the file replaces its path
        run = spec["pretrain"]
        spec = {**spec, "pretrain": {**run, "model": {**run["model"], "vectors": None}}}
    if "content" in spec:
        spec = {**spec, "content": _without_paths(spec["content"])}
    if "tasks" in spec:
        tasks = [{**task, "content": _without_paths(task["content"])} for task in spec["tasks"]]
        spec = {**spec, "tasks": tasks}
    # Without nulls, so that new optional fields do not change existing keys.
    content = [kind, STAGE_KINDS[kind].version, without_nulls(spec), parents]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def run_content(run: Pretrain) -> dict[str, Any]:
    """The settings of a run that enter its key. The corpus enters through the parents; the name of
    the recipe has no effect on the result."""
    spec = run.model_dump(exclude={"recipe", "corpus", *ROLES})
    if run.optimizer.kind == "adamw":  # keys were made before there were others
        del spec["optimizer"]["kind"]
    others = {role: getattr(run, role) for role in ROLES}
    return spec | {role: run_content(other) if other else None for role, other in others.items()}


def without_nulls(value: Any) -> Any:
    """Plain data without null fields, at any depth."""
    if isinstance(value, Mapping):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


def _without(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != name}


def _without_paths(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a task without the paths of its files, whose fingerprint is in the key."""
    data = content.get("data", {})
    if "files" not in data:
        return content
    return {**content, "data": {**data, "files": sorted(data["files"])}}
