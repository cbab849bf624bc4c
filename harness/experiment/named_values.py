"""Names that stand for values, and runs within a run."""

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
"""Fields of `pretrain` that may be given by name instead of by value."""

DEFAULT_RECIPE = "bert"

ROLES = ("init_from", "teacher")
"""Fields of a run that are runs themselves."""


def expand_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Names replaced by the values they stand for; unknown names stay, for validation to refuse."""
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
    """`transform: prefix` as `transform: {kind: prefix}`, so that fields can be laid over it; what
    lists a mixture is one."""
    out = {"kind": "mixture", **objective} if "mixture" in objective else dict(objective)
    for part in ("transform", "output"):
        if isinstance(out.get(part), str):
            out[part] = {"kind": out[part]}
    return out
