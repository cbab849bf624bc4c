"""A plan as text, and as HTML for notebooks."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from harness.experiment.experiment import Experiment
from harness.plan.costs import Cost
from harness.plan.differences import Differences, condensed, shown

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCES = "What differs between arms:"


def plan_html(
    experiment: Experiment, stages: str, costs: Mapping[str, Cost], differences: Differences
) -> str:
    """`plan_text` as HTML, with plain tables."""
    parts = [f"<p><b>{escape(experiment.name)}</b>: {escape(experiment.question)}</p>"]
    parts += [paragraph(f"expected: {one}") for one in experiment.expectations]
    parts += [_table(_arms(costs)), paragraph(stages)]
    if differences:
        parts += [paragraph(DIFFERENCES), _table(_fields(differences))]
    return "\n".join(parts)


def plan_text(
    experiment: Experiment, stages: str, costs: Mapping[str, Cost], differences: Differences
) -> str:
    """The expected differences, the arms with their costs, and the fields in which they differ.

    Args:
        stages: how many stages there are.
    """
    lines = [f"{experiment.name}: {experiment.question}"]
    lines += [f"expected: {one}" for one in experiment.expectations]
    lines += [_arms(costs).to_string(index=False), stages]
    if differences:
        lines += [DIFFERENCES, _fields(differences).to_string(index=False)]
    return "\n".join(lines)


def _arms(costs: Mapping[str, Cost]) -> "pd.DataFrame":
    """Arms with the cost of pretraining one seed, as text."""
    import pandas as pd  # slow

    rows = [
        [arm, *map(_count, (one.steps, one.tokens, one.parameters)), _flops(one.flops)]
        for arm, one in costs.items()
    ]
    return pd.DataFrame(rows, columns=["arm", "updates", "tokens", "parameters", "FLOPs"])


def _fields(differences: Differences) -> "pd.DataFrame":
    """The fields that differ, a column for each arm, as text."""
    import pandas as pd

    return pd.DataFrame(
        {"field": path, **{arm: shown(value) for arm, value in values.items()}}
        for path, values in condensed(differences)
    )


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
