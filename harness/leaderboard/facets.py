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
    checkpoint = pretrain["model"].get("checkpoint")  # its recorded size and budget mean nothing
    return {
        "family": str(pretrain["model"]["family"]),
        "size": "of the checkpoint" if checkpoint else _size(pretrain.get("size")),
        "budget": "of the checkpoint" if checkpoint else _budget(pretrain["budget"]),
        "seeds": row.seeds,
    }


def _size(size: Mapping[str, Any] | None) -> str:
    if size is None:  # recorded by another version
        return "unknown"
    named = (name for name, one in SIZES.items() if one.model_dump(mode="json") == size)
    return next(named, f"{size['num_layers']} layers x {size['hidden_size']}")


def _budget(budget: Mapping[str, Any]) -> str:
    spent = {unit: number for unit, number in budget.items() if number}
    return (
        ", ".join(
            f"{number:.3g} {unit}" if unit == "flops" else f"{number:,} {unit}"
            for unit, number in spent.items()
        )
        or "no pretraining"
    )
