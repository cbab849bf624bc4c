"""The verdicts of a report as comma-separated text."""

from collections.abc import Sequence

from harness.core.csv_text import csv_text
from harness.experiment.experiment import Experiment
from harness.report.verdict import Verdict

COLUMNS = [
    *("claims", "expectation", "verdict", "difference", "unit"),
    *("low", "high", "p_value", "p_holm", "num_seeds", "reason"),
]


def verdicts_csv(experiment: Experiment, verdicts: Sequence[Verdict]) -> str:
    """One line for each expectation: COLUMNS. `claims` are ids, separated by spaces."""
    return csv_text([COLUMNS, *(_row(experiment, one) for one in verdicts)])


def _row(experiment: Experiment, verdict: Verdict) -> list[str]:
    claim = verdict.claim
    ids = " ".join(experiment.claims_of(claim.expectation))
    figures = [""] * 7
    if found := claim.found:
        adjusted = "" if claim.adjusted is None else f"{claim.adjusted:.4f}"
        numbers = [f"{value:.4f}" for value in (found.low, found.high, found.p_value)]
        if claim.is_counted:
            numbers[2] = ""  # an exact difference is no test
        figures = [f"{found.estimate:.4f}", claim.unit, *numbers, adjusted, str(found.num_seeds)]
    return [ids, str(claim.expectation), verdict.word, *figures, verdict.reason]
