"""The registries whose members an experiment can name: recipes, tasks, suites, ..."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from inspect import isfunction
from typing import Any

from harness.experiment.registry_columns import columns_of

REGISTRIES: dict[str, tuple[str, str]] = {
    "recipes": ("harness.pretraining.recipes", "RECIPES"),
    "objectives": ("harness.pretraining.objectives", "OBJECTIVES"),
    "corpora": ("harness.data.corpora", "CORPORA"),
    "tokenizers": ("harness.data.tokenizers", "TOKENIZERS"),
    "models": ("harness.models", "MODELS"),
    "sizes": ("harness.models", "SIZES"),
    "adaptations": ("harness.finetuning.adaptation", "ADAPTATIONS"),
    "diagnostics": ("harness.finetuning.diagnostics", "DIAGNOSTICS"),
    "tasks": ("harness.tasks", "TASKS"),
    "suites": ("harness.tasks", "SUITES"),
    "probes": ("harness.tasks.probes", "PROBES"),
    "spaces": ("harness.finetuning.search.sweep", "SPACES"),
    "loggers": ("harness.pretraining.loggers", "LOGGERS"),
}
"""Registry to the module and the name of its dict; modules are imported on demand."""


def members(registry: str) -> Mapping[str, Any]:
    """Name to member of a registry.

    Raises:
        ValueError: the registry does not exist.
    """
    module, name = _get("the harness", REGISTRIES, registry)
    found: Mapping[str, Any] = getattr(import_module(module), name)
    return found


def rows(registry: str) -> list[dict[str, Any]]:
    """The name of each member, and what a list shows of it; all with the same columns.

    Raises:
        ValueError: the registry does not exist.
    """
    found = members(registry).items()
    return [{"name": name, **columns_of(registry, name, member)} for name, member in found]


def details(registry: str, name: str) -> str:
    """All fields of one member, as YAML.

    Raises:
        ValueError: the registry or the member does not exist.
    """
    import yaml

    member = _plain(_get(registry, members(registry), name))
    return yaml.safe_dump({name: member}, sort_keys=False, allow_unicode=True)


def _get(where: str, names: Mapping[str, Any], name: str) -> Any:
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise ValueError(f"{where} has no {name!r}; {hint}")
    return names[name]


def _plain(member: Any) -> Any:
    from harness.core.config import ConfigModel

    if isinstance(member, ConfigModel):
        return member.model_dump(mode="json")
    if isinstance(member, Mapping):
        return {name: _plain(value) for name, value in member.items()}
    if isfunction(member):
        return " ".join((member.__doc__ or "").split())
    return list(member) if isinstance(member, tuple) else member
