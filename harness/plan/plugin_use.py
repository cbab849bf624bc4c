"""Which members of registries the specification of a stage names, for the digests in its key.

Only members that are code count. Values, such as tasks and recipes, enter keys by their fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Spec = Mapping[str, Any]


def tasks_of(spec: Spec) -> Iterator[Spec]:
    """The tasks of a stage: `task` and `content`."""
    yield from spec.get("tasks", [spec] if "content" in spec else [])


def _transforms(spec: Spec) -> Iterator[str]:
    if "pretrain" in spec:
        objective = spec["pretrain"]["objective"]
        for part in objective.get("mixture", [{"objective": objective}]):
            yield part["objective"]["transform"]["kind"]


def _modules(spec: Spec) -> Iterator[str]:
    if module := spec.get("pretrain", {}).get("module"):
        yield module


def _preprocessors(spec: Spec) -> Iterator[str]:
    yield from (task["content"]["prepare"] for task in tasks_of(spec) if task["content"]["prepare"])


def _datasets(spec: Spec) -> Iterator[str]:
    found = (task["content"]["data"] for task in tasks_of(spec))
    yield from (data["name"] for data in found if data["source"] == "plugin")


def _metrics(spec: Spec) -> Iterator[str]:
    yield from (metric for task in tasks_of(spec) for metric in task["content"]["metrics"])


def _probes(spec: Spec) -> Iterator[str]:
    yield from [spec["probe"]] if "probe" in spec else []


USED = {
    "TRANSFORMS": _transforms,
    "MODULES": _modules,
    "PREPROCESSORS": _preprocessors,
    "DATASETS": _datasets,
    "METRICS": _metrics,
    "PROBES": _probes,
}
"""Registry to the names of its members that a specification names. CALLBACKS are used by all
stages with `StageKind.runs_callbacks`."""


def used_members(spec: Spec) -> dict[str, set[str]]:
    """Registry of USED to the names of its members that a stage uses."""
    return {registry: set(names(spec)) for registry, names in USED.items()}
