"""`evaluate.tasks` as a mapping: tasks of the user's own data in place of a suite."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.files import file_exists, user_path
from harness.data.digests import digest
from harness.experiment.messages import dotted
from harness.experiment.source import AFTER_ALL_FILES, Source, value_at
from harness.experiment.yaml_reader import Keys
from harness.tasks import TASKS as SHIPPED
from harness.tasks.custom import MAX_TASKS
from harness.tasks.inference import inferred

TASKS: Keys = ("evaluate", "tasks")
SUITE: Keys = ("evaluate", "suite")


def as_suite(source: Source) -> None:
    """Rewrites a mapping in `evaluate.tasks` as a suite with all fields of its tasks.

    A suite of a base experiment is replaced; one of the same file is a problem. Problems are
    reported to the source.
    """
    tasks = value_at(source.data, TASKS)
    if not isinstance(tasks, dict):
        return
    if not tasks:
        source.report(TASKS, "evaluate.tasks must have at least one task, but has none")
    if len(tasks) > MAX_TASKS:
        most = f"must have at most {MAX_TASKS:,} tasks, but has {len(tasks):,}"
        source.report(TASKS, f"evaluate.tasks {most}")
        source.raise_problems()  # their data would be read
    if value_at(source.data, SUITE) and _layer(source, SUITE) <= _layer(source, TASKS):
        source.report(SUITE, "evaluate: a mapping in tasks replaces suite; remove one of them")
    completed = {name: _task(source, name, fields) for name, fields in tasks.items()}
    known = {name: task for name, task in completed.items() if task}
    evaluate = source.data["evaluate"]
    del evaluate["tasks"]
    evaluate.pop("suite", None)
    if known:
        evaluate["suite"] = {"name": _suite_name(known), "tasks": list(known.values())}
        _move(source, list(known))


def _layer(source: Source, keys: Keys) -> int:
    """Depth in the chain of `extends` at which a value was given; below 0 for an override."""
    depth = source.places[keys].order[0] if keys in source.places else 0
    return -1 if depth == AFTER_ALL_FILES else depth


def _move(source: Source, names: Sequence[str]) -> None:
    """Moves the places of the tasks to where they are in the suite."""
    for keys in [keys for keys in source.places if keys[:2] == SUITE]:
        del source.places[keys]
    if TASKS in source.places:
        source.places[SUITE] = source.places.pop(TASKS)
    for number, name in enumerate(names):
        given, new = (*TASKS, name), (*SUITE, "tasks", number)
        source.aliases[dotted(new)] = dotted(given)
        for keys in [keys for keys in source.places if keys[: len(given)] == given]:
            source.places[(*new, *keys[len(given) :])] = source.places.pop(keys)


def _task(source: Source, name: str, fields: Any) -> Any:
    """The fields of a task; its name alone, if it has no fields; null if there is a problem."""
    keys = (*TASKS, name)
    if not fields:
        if name not in SHIPPED:
            needs = "needs its data, such as {data: train.csv}, as no shipped task has this name"
            source.report(keys, f"evaluate.tasks.{name} {needs}")
            return None
        return name
    if not isinstance(fields, dict) or "name" in fields:
        example = "such as {data: train.csv}, without a name"
        source.report(keys, f"evaluate.tasks.{name} must be a mapping of fields, {example}")
        return None
    try:
        return inferred({"name": name, **fields})
    except ValueError as error:
        message = str(error)
        source.report(source.mentioned(keys, message), f"evaluate.tasks.{name}: {message}")
        return None


def _suite_name(tasks: Mapping[str, Any]) -> str:
    """The names of the tasks, with a version: a digest of their fields and data."""
    content = [task if isinstance(task, str) else _content(task) for task in tasks.values()]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '-', '-'.join(tasks))[:50]}-{digest[:6]}"


def _content(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a task with the digest of its files in place of their paths."""
    data = task.get("data")
    if not isinstance(data, Mapping) or not isinstance(data.get("files"), Mapping):
        return task
    paths = [user_path(str(path)) for _, path in sorted(data["files"].items())]
    found = digest(path for path in paths if file_exists(path))  # a missing file fails later
    return {**task, "data": {**data, "files": found}}
