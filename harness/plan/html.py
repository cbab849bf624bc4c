"""A plan as HTML, for notebooks."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from harness.experiment.experiment import Experiment
from harness.plan.costs import Cost
from harness.plan.differences import Differences, condensed, shown

if TYPE_CHECKING:
    import pandas as pd


def plan_html(
    experiment: Experiment, stages: str, costs: Mapping[str, Cost], differences: Differences
) -> str:
    """The expected differences, the arms with their costs, and the fields in which they differ, as
    plain tables.

    Args:
        stages: how many stages there are.
    """
    import pandas as pd  # slow

    rows = [
        [arm, *map(_count, (one.steps, one.tokens, one.parameters)), _flops(one.flops)]
        for arm, one in costs.items()
    ]
    arms = pd.DataFrame(rows, columns=["arm", "updates", "tokens", "parameters", "FLOPs"])
    fields = [
        {"field": path, **{arm: shown(value) for arm, value in values.items()}}
        for path, values in condensed(differences)
    ]
    parts = [f"<p><b>{escape(experiment.name)}</b>: {escape(experiment.question)}</p>"]
    parts += [paragraph(f"expected: {one.better} > {one.worse}") for one in experiment.expect]
    parts += [_table(arms), paragraph(stages)]
    if fields:
        parts += ["<p>What differs between arms:</p>", _table(pd.DataFrame(fields))]
    return "\n".join(parts)


def paragraph(line: str) -> str:
    """A line of text as HTML."""
    return f"<p>{escape(line)}</p>"


def _table(frame: "pd.DataFrame") -> str:
    """Cells are escaped."""
    return frame.to_html(index=False, border=0)


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _flops(value: float | None) -> str:
    return "–" if value is None else f"{value:.2e}"
