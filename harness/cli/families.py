"""The families as lists, for `harness list` and `harness show`."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import yaml

from harness.core.config import Value
from harness.data.corpora import CORPORA
from harness.data.tokenizers import TOKENIZERS
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.diagnostics import RECORDS
from harness.finetuning.search.spaces import SPACES
from harness.models import MODELS, SIZES
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Mixture, Objective
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import SUITES, TASKS
from harness.tasks.probes import PROBES

FAMILIES: dict[str, Mapping[str, Any]] = {
    "recipes": RECIPES,
    "objectives": OBJECTIVES,
    "corpora": CORPORA,
    "tokenizers": TOKENIZERS,
    "models": MODELS,
    "sizes": SIZES,
    "adaptations": ADAPTATIONS,
    "records": RECORDS,
    "tasks": TASKS,
    "suites": SUITES,
    "probes": PROBES,
    "spaces": SPACES,
}


def rows(family: str) -> Iterator[tuple[str, str]]:
    """Each member's name and a line on it.

    Raises:
        ValueError: there is no such family.
    """
    for name, member in _pick("the harness", FAMILIES, family).items():
        yield name, _line(member)


def details(family: str, name: str) -> str:
    """All fields of one member, as YAML.

    Raises:
        ValueError: the family has no such member.
    """
    members = _pick("the harness", FAMILIES, family)
    member = _plain(_pick(family, members, name))
    return yaml.safe_dump({name: member}, sort_keys=False, allow_unicode=True)


def _pick(where: str, members: Mapping[str, Any], name: str) -> Any:
    if name not in members:
        near = get_close_matches(name, members, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(members)}"
        raise ValueError(f"{where} has no {name!r}; {hint}")
    return members[name]


def _line(member: Any) -> str:
    if isinstance(member, Adaptation):
        about = " ".join((type(member).__doc__ or "").split())
        return f"{member.label}: {about[0].lower()}{about[1:].rstrip('.')}"
    if isinstance(member, Pretrain):
        return f"{member.model.family}: {member.objective.formula}"
    if isinstance(member, Objective | Mixture):
        return member.formula
    plain = _plain(member)
    if isinstance(plain, dict):
        text = ", ".join(f"{k}={v}" for k, v in plain.items() if not isinstance(v, (dict, list)))
        return text or ", ".join(f"{k} {v}" for k, v in plain.items())
    return str(plain)


def _plain(member: Any) -> Any:
    if isinstance(member, Value):
        return member.model_dump(mode="json")
    if isinstance(member, Mapping):
        return {name: _plain(value) for name, value in member.items()}
    return list(member) if isinstance(member, tuple) else member
