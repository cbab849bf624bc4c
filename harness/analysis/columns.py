"""The columns of a suite under an averaging rule."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.averages import AVERAGES, Average, Term, get_average
from harness.core.config import unknown_name
from harness.tasks.custom import suite_named
from harness.tasks.task import Column, Suite


@dataclass(frozen=True)
class SuiteColumns:
    """A suite, or a part of one, with its columns and its averaging rule."""

    suite: Suite
    average: Average
    columns: tuple[Column, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the average, with equal weights."""
        return terms_of(self.average, self.suite)


def suite_columns(
    suite: Suite | str, average: str | None = None, tasks: Sequence[str] | None = None
) -> SuiteColumns:
    """The columns of a suite.

    Args:
        suite: a suite or its name.
        average: name of an averaging rule; null means the suite's own, or the mean of all columns
            if `tasks` is a part of the suite.
        tasks: tasks to include; null means all.

    Raises:
        ValueError: an unknown suite, average or task, or an average of tasks that the suite does
            not have.
    """
    suite = suite if isinstance(suite, Suite) else suite_named(suite)
    suite = part_of_suite(suite, tasks)
    rule = get_average(average or suite.average)
    # The suite's columns with the metrics of the average, then further columns of the average.
    taken = {column.name: column for term in terms_of(rule, suite) for column in term}
    shown = {column.name: taken.get(column.name, column) for column in suite.columns}
    return SuiteColumns(suite, rule, tuple({**shown, **taken}.values()))


def part_of_average(
    layout: SuiteColumns, shared: Collection[Column], rows: str = "measured"
) -> SuiteColumns | None:
    """The same columns, averaged over those terms of the rule of which all columns are `shared`;
    null if these are none or all terms.

    Args:
        rows: what kind of rows have the shared columns, for the formula.
    """
    terms = [term for term in layout.terms if set(term) <= set(shared)]
    if not terms or len(terms) == len(layout.terms):
        return None
    some, every = ({c.task for term in part for c in term} for part in (terms, layout.terms))
    label = f"mean of {len(some)} of {len(every)} tasks"
    if some == every:  # without one of two dev sets
        label = f"mean of {len(terms)} of {len(layout.terms)} columns"
    names = ", ".join(column.name for term in terms for column in term)
    formula = f"mean of the columns that all {rows} rows have, {names}, as no row has all of "
    rule = Average(label, f"{formula}{layout.average.name}", "ours", tuple(terms), label)
    return replace(layout, average=rule)


def part_of_suite(suite: Suite, tasks: Sequence[str] | None) -> Suite:
    """Some tasks of a suite as a suite, averaged over all columns; its name lists the tasks.

    Args:
        tasks: null or all tasks: the suite itself.

    Raises:
        ValueError: a task that the suite does not have.
    """
    for task in tasks or ():
        if task not in suite.tasks:
            raise ValueError(unknown_name(f"{suite.name}: the task", task, suite.tasks))
    if not tasks or set(tasks) == set(suite.tasks):
        return suite
    return suite.model_copy(
        update={
            "name": f"{suite.name}[{', '.join(t for t in suite.tasks if t in tasks)}]",
            "columns": tuple(column for column in suite.columns if column.task in tasks),
            "average": "mean_of_columns",
        }
    )


def terms_of(rule: Average, suite: Suite) -> tuple[Term, ...]:
    """The rule's terms on a suite.

    Raises:
        ValueError: the rule needs a task that the suite does not have.
    """
    terms = rule.terms or tuple((column,) for column in suite.columns)
    missing = sorted({c.task for term in terms for c in term} - set(suite.tasks))
    if missing:
        fitting = [r.name for r in AVERAGES.values() if _fits(r, suite)]
        raise ValueError(
            f"average {rule.name} needs {', '.join(missing)}, which {suite.name} does not have; "
            f"rules for this suite: {', '.join(fitting)}"
        )
    return terms


def _fits(rule: Average, suite: Suite) -> bool:
    return all(column.task in suite.tasks for term in rule.terms for column in term)


def combine(terms: Sequence[Term], columns: Mapping[Column, np.ndarray]) -> np.ndarray:
    """Mean over terms of the mean over their columns.

    Args:
        columns: column to its scores [...], of equal shape.

    Returns:
        Means [...]; NaN where one of the scores is NaN.
    """
    means = [np.mean([columns[column] for column in term], axis=0) for term in terms]
    return np.asarray(np.mean(means, axis=0))
