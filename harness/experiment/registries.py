"""The registries whose members an experiment can name: recipes, tasks, suites, ..."""

from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches
from importlib import import_module
from inspect import isfunction
from typing import Any, NamedTuple

from harness.core.files import user_path
from harness.experiment.registry_columns import columns_of


class Registry(NamedTuple):
    """Where the members of a registry are defined, and what an experiment names them in."""

    module: str
    """Imported on demand."""
    dict_name: str
    about: str
    facts: str | None = None
    """Name of the dict beside it with what is known of its members."""


REGISTRIES: dict[str, Registry] = {
    "recipes": Registry(
        "harness.pretraining.recipes",
        "RECIPES",
        "published ways of pretraining: pretrain.recipe",
    ),
    "objectives": Registry(
        "harness.pretraining.objectives",
        "OBJECTIVES",
        "what pretraining predicts: pretrain.objective",
    ),
    "corpora": Registry(
        "harness.data.corpora",
        "CORPORA",
        "pretraining text: pretrain.corpus",
        facts="FACTS",
    ),
    "tokenizers": Registry(
        "harness.data.tokenizers",
        "TOKENIZERS",
        "how a vocabulary is learned: pretrain.tokenizer",
    ),
    "models": Registry(
        "harness.models",
        "MODELS",
        "network families with their settings: pretrain.model",
    ),
    "sizes": Registry("harness.models", "SIZES", "layers, width and heads: pretrain.size"),
    "adaptations": Registry(
        "harness.finetuning.adaptation",
        "ADAPTATIONS",
        "which weights fine-tuning trains: evaluate.adaptation",
    ),
    "diagnostics": Registry(
        "harness.finetuning.diagnostics",
        "DIAGNOSTICS",
        "additional measurements of fine-tuning: evaluate.diagnostics",
    ),
    "tasks": Registry("harness.tasks", "TASKS", "labelled data with their metrics: evaluate.tasks"),
    "suites": Registry(
        "harness.tasks",
        "SUITES",
        "selections of tasks with an average: evaluate.suite",
    ),
    "probes": Registry(
        "harness.tasks.probes",
        "PROBES",
        "tests without fine-tuning: evaluate.probes",
    ),
    "spaces": Registry(
        "harness.finetuning.search.sweep",
        "SPACES",
        "hyperparameters that a sweep searches: sweep.space",
    ),
    "loggers": Registry(
        "harness.pretraining.loggers",
        "LOGGERS",
        "trackers of training curves: compute.loggers",
    ),
}


OF_FILES = ("tasks", "corpora")
"""Registries that have samples of files, too."""


def overview() -> list[dict[str, Any]]:
    """A row for each registry: its name, the number of its members, and what they are."""
    return [
        {"registry": name, "members": len(members(name)), "about": one.about}
        for name, one in REGISTRIES.items()
    ]


def members(registry: str) -> Mapping[str, Any]:
    """Name to member of a registry.

    Raises:
        ValueError: the registry does not exist.
    """
    found = _get("the harness", REGISTRIES, registry)
    return getattr(import_module(found.module), found.dict_name)


def rows(registry: str) -> list[dict[str, Any]]:
    """The name of each member, and what a list shows of it; all with the same columns.

    Raises:
        ValueError: the registry does not exist.
    """
    found = members(registry).items()
    return [{"name": name, **columns_of(registry, name, member)} for name, member in found]


def details(registry: str, name: str) -> str:
    """All fields of one member, and what is known of it, as YAML.

    Raises:
        ValueError: the registry or the member does not exist.
    """
    import yaml

    if registry in OF_FILES and name not in members(registry) and user_path(name).exists():
        raise ValueError(
            f"{name} is a file or folder and none of the {registry}; --examples 2 shows the first "
            "two of its examples or documents"
        )
    found = {name: _plain(_get(registry, members(registry), name)), **_facts(registry, name)}
    return yaml.safe_dump(found, sort_keys=False, allow_unicode=True)


def _facts(registry: str, name: str) -> dict[str, Any]:
    one = REGISTRIES[registry]
    known = getattr(import_module(one.module), one.facts).get(name) if one.facts else None
    return {"facts": asdict(known)} if known else {}


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
