"""Fields of `pretrain` that accept the name of a shipped value, and nested runs."""

from collections.abc import Mapping
from typing import Any

from harness.core.config import ConfigModel
from harness.data.corpora import CORPORA
from harness.data.tokenizers import TOKENIZERS
from harness.models import MODELS, SIZES
from harness.pretraining.objectives import OBJECTIVES

NAMED: dict[str, Mapping[str, ConfigModel]] = {
    "corpus": CORPORA,
    "tokenizer": TOKENIZERS,
    "objective": OBJECTIVES,
    "model": MODELS,
    "size": SIZES,
}
"""Field of `pretrain` to the values that it accepts by name."""

DEFAULT_RECIPE = "bert"

ROLES = ("init_from", "teacher")
"""Fields of a pretraining run that are pretraining runs themselves."""


def expand_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with names replaced by values; unknown names are kept, and refused by validation."""
    out = dict(fields)
    for field, family in NAMED.items():
        name = out.get(field)
        if isinstance(name, str) and name in family:
            out[field] = family[name].model_dump()
    if isinstance(out.get("objective"), Mapping):
        out["objective"] = _with_kinds(out["objective"])
    for role in ROLES:
        if isinstance(out.get(role), Mapping):
            out[role] = expand_names(out[role])
    return out


def _with_kinds(objective: Mapping[str, Any]) -> dict[str, Any]:
    """Expands `transform: prefix` to `transform: {kind: prefix}`, so that fields can be merged into
    it, and adds the kind of a mixture."""
    out = {"kind": "mixture", **objective} if "mixture" in objective else dict(objective)
    for part in ("transform", "output"):
        if isinstance(out.get(part), str):
            out[part] = {"kind": out[part]}
    return out
