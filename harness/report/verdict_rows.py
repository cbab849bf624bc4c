"""The verdicts of a report as comma-separated text."""

from collections.abc import Mapping, Sequence

from harness.core.csv_text import csv_text
from harness.experiment.experiment import Experiment
from harness.report.verdict import Verdict

COLUMNS = [
    *("claims", "expectation", "verdict", "difference", "unit"),
    *("low", "high", "p_value", "p_holm", "num_seeds", "seeds_needed", "tokens", "reason"),
]

EXACT = ".10g"
"""Digits of numbers, which the board of findings rounds as the report does."""


def verdicts_csv(
    experiment: Experiment, verdicts: Sequence[Verdict], tokens: Mapping[str, float]
) -> str:
    """One line for each expectation: COLUMNS. `claims` are ids, separated by spaces; `tokens` the
    largest number that one of its arms is pretrained on; `seeds_needed` as that of the verdict.

    Args:
        tokens: of one pretraining run of each arm; NaN if unknown.
    """
    return csv_text([COLUMNS, *(_row(experiment, one, tokens) for one in verdicts)])


def _row(experiment: Experiment, verdict: Verdict, tokens: Mapping[str, float]) -> list[str]:
    claim = verdict.claim
    spent = [number for arm in claim.expectation.arms if (number := tokens.get(arm, 0)) > 0]
    ids = " ".join(experiment.claims_of(claim.expectation))
    figures = [""] * 7
    if found := claim.found:
        adjusted = "" if claim.adjusted is None else f"{claim.adjusted:{EXACT}}"
        numbers = [f"{value:{EXACT}}" for value in (found.low, found.high, found.p_value)]
        if claim.is_counted:
            numbers[2] = ""  # an exact difference is no test
        figures = [
            f"{found.estimate:{EXACT}}",
            claim.unit,
            *numbers,
            adjusted,
            str(found.num_seeds),
        ]
    needed = "" if verdict.seeds_needed is None else f"{verdict.seeds_needed:.0f}"
    most = f"{max(spent):.0f}" if spent else ""
    return [ids, str(claim.expectation), verdict.word, *figures, needed, most, verdict.reason]
