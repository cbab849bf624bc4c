"""Properties of arms by which the rows of a board are filtered."""

from collections.abc import Mapping
from typing import Any

from harness.leaderboard.table import Row
from harness.models import SIZES

Facets = Mapping[str, str]
"""Name of a facet to its value: family, size, budget, seeds."""


def facets(pretrain: Mapping[str, Any], row: Row) -> Facets:
    """The facets of a measured row.

    Args:
        pretrain: the recorded pretraining fields of its arm.
    """
    return {
        "family": str(pretrain["model"]["family"]),
        "size": _size(pretrain["size"]) if "size" in pretrain else "none",
        "budget": _budget(pretrain["budget"]),
        "seeds": row.seeds,
    }


def _size(size: Mapping[str, Any]) -> str:
    named = (name for name, one in SIZES.items() if one.model_dump(mode="json") == size)
    return next(named, f"{size['num_layers']} layers x {size['hidden_size']}")


def _budget(budget: Mapping[str, Any]) -> str:
    spent = {unit: number for unit, number in budget.items() if number}
    return (
        ", ".join(
            f"{number:,.6g} {unit}" if number < 1e5 else f"{number:.3g} {unit}"
            for unit, number in spent.items()
        )
        or "no pretraining"
    )
