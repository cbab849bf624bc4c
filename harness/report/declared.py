"""What was predicted, and whether expectations were declared before their results."""

from collections.abc import Iterator, Mapping

from harness.analysis.results import Results
from harness.experiment.expectation import Expectation
from harness.report.difference_tables import amount
from harness.store.declared import Declared, read_declared


def declared_expectations(results: Results) -> Mapping[str, Declared]:
    """Expectation to the first run with it, as far as it is known."""
    return read_declared(results.store.root, results.experiment.name)


def predicted_line(results: Results, one: Expectation) -> str:
    """What was predicted, and when; empty without a prediction."""
    if one.predicted is None:
        return ""
    line = f"predicted {amount(one.predicted, one.unit)} {one.unit}"
    known = results.get(declared_expectations).get(one.declared_as)
    if not known or known.finished is None:
        return line
    if not known.finished:
        return f"{line}, before its first result"
    return f"{line}, after {shares_finished(known)}"


def declared_late(results: Results) -> Iterator[str]:
    """A threat for each expectation that was declared after results for it."""
    known = results.get(declared_expectations)
    for one in results.experiment.expectations:
        declared = known.get(one.declared_as)
        late = ""
        if declared and declared.finished:
            late = f"{shares_finished(declared)}, at {declared.time}"
        elif known and not declared and results.finished:
            late = "the last run of the experiment"
        if late:
            yield (
                f"The expectation {one.declared_as} was first declared after {late}; its p value "
                "holds for expectations that are declared before their results."
            )


def shares_finished(declared: Declared) -> str:
    """How many stages with results had finished when something was declared."""
    return f"{declared.finished:,} of the {declared.planned:,} stages with its results had finished"
