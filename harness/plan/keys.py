"""Stage keys: hashes of everything that can change the result of a stage."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.experiment.recipe_defaults import ROLES
from harness.plan.stage_kinds import STAGE_KINDS
from harness.pretraining.recipes.pretrain import Pretrain

_json = json.JSONEncoder(sort_keys=True).encode


class KeyTexts:
    """The texts of the fields of specifications in keys. That of a mapping is made once, however
    many stages share it."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], tuple[Mapping[str, Any], str]] = {}

    def of(self, name: str, value: Any) -> str:
        """JSON of what identifies the value of a field, which must not be changed later."""
        if not isinstance(value, dict):
            return _text(name, value)
        place = name, id(value)
        if place not in self._made:  # kept with its text, so that no other gets its id
            self._made[place] = value, _text(name, value)
        return self._made[place][1]


def stage_key(
    kind: str,
    spec: Mapping[str, Any],
    parents: Mapping[str, str],
    texts: KeyTexts | None = None,
) -> str:
    """The key of a stage: 16 hexadecimal digits. Paths of local files are not part of it. For the
    arguments, see `Stage`.

    Args:
        texts: of the fields that other stages share.
    """
    texts = texts or KeyTexts()
    if kind in ("tokenizer", "pretrain"):  # the fingerprint identifies a checkpoint, not its name
        spec = _without(spec, "checkpoint")
    if "vectors" in spec:  # the digest of the file replaces its path
        run = spec["pretrain"]
        spec = {**spec, "pretrain": {**run, "model": {**run["model"], "vectors": None}}}
    # Without nulls, so that new optional fields do not change existing keys.
    given = sorted((name, value) for name, value in spec.items() if value is not None)
    fields = ", ".join(f'"{name}": {texts.of(name, value)}' for name, value in given)
    version = STAGE_KINDS[kind].version
    content = f'["{kind}", {version}, {{{fields}}}, {_json(parents)}]'
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def run_content(run: Pretrain) -> dict[str, Any]:
    """The settings of a run that enter its key. All text enters through the parents; the name of
    the recipe has no effect on the result."""
    spec = run.model_dump(exclude={"recipe", "corpus", "held_out", *ROLES})
    del spec["tokenizer"]["corpus"]
    if run.optimizer.kind == "adamw":  # keys were made before there were others
        del spec["optimizer"]["kind"]
    others = {role: getattr(run, role) for role in ROLES}
    return spec | {role: run_content(other) if other else None for role, other in others.items()}


def without_nulls(value: Any) -> Any:
    """Plain data without null fields, at any depth."""
    if isinstance(value, Mapping):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


def _text(name: str, value: Any) -> str:
    """JSON of what identifies the value of a field."""
    if isinstance(value, (str, int, float)):
        return _json(value)
    return _json(without_nulls(_identifying(name, value)))


def _without(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != name}


def _identifying(name: str, value: Any) -> Any:
    """The value of a field of a specification without the paths of files, whose fingerprints are in
    the key."""
    if name in ("corpus", "held_out"):
        return _without_path(value)
    if name == "content":
        return _without_paths(value)
    if name == "tasks":
        return [{**task, "content": _without_paths(task["content"])} for task in value]
    return value


def _without_path(corpus: Mapping[str, Any]) -> Mapping[str, Any]:
    """A corpus without the paths of local files."""
    if corpus.get("source") in ("text", "jsonl", "parquet"):
        return _without(corpus, "path")
    if corpus.get("source") == "mixture":
        sources = {name: _without_path(one) for name, one in corpus["sources"].items()}
        return {**corpus, "sources": sources}
    return corpus


def _without_paths(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a task without the paths of its files."""
    data = content.get("data", {})
    if "files" not in data:
        return content
    return {**content, "data": {**data, "files": sorted(data["files"])}}
