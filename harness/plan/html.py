"""A plan as HTML, for notebooks."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from harness.plan.costs import Cost
from harness.plan.differences import Differences, condensed

if TYPE_CHECKING:
    import pandas as pd


def plan_html(
    name: str, question: str, stages: int, costs: Mapping[str, Cost], differences: Differences
) -> str:
    """The arms with their costs, and the fields in which they differ, as plain tables."""
    import pandas as pd  # slow

    rows = [
        [arm, *map(_count, (one.steps, one.tokens, one.parameters)), _flops(one.flops)]
        for arm, one in costs.items()
    ]
    arms = pd.DataFrame(rows, columns=["arm", "updates", "tokens", "parameters", "FLOPs"])
    fields = [
        {"field": path, **{arm: _text(value) for arm, value in values.items()}}
        for path, values in condensed(differences)
    ]
    parts = [f"<p><b>{escape(name)}</b>: {escape(question)} {stages} stages.</p>", _table(arms)]
    if fields:
        parts += ["<p>What differs between arms:</p>", _table(pd.DataFrame(fields))]
    return "\n".join(parts)


def _text(value: Any) -> str:
    return "–" if value is None else str(value)


def _table(frame: "pd.DataFrame") -> str:
    """Cells are escaped."""
    return frame.to_html(index=False, border=0)


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _flops(value: float | None) -> str:
    return "–" if value is None else f"{value:.2e}"
