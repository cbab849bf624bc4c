"""What the board of findings shows, in every format."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import inf, isnan
from pathlib import Path
from typing import Any

from harness.analysis.statistics.variance import MAX_SEEDS
from harness.core.counting import number_of
from harness.experiment.claims import CLAIMS
from harness.experiment.outcomes import POINTS
from harness.leaderboard.cells import MISSING
from harness.report.difference_tables import amount
from harness.report.findings.board import (
    Evidence,
    Finding,
    accuracy_by_budget,
    counts,
    decision_accuracy,
    num_beside,
    num_counted,
)
from harness.report.findings.decisions import ReportDecisions
from harness.report.verdict import TOO_MANY

MAX_OPEN = 4
"""More results of one claim are folded behind their number."""
FEW, MANY = 16, 100
"""Seeds per arm that a small study can have, and that few have."""


def content(
    found: Sequence[Finding], reports: Path, out: Path, decisions: Sequence[ReportDecisions]
) -> dict[str, Any]:
    """The values of the templates.

    Args:
        reports: the folder of all reports, to which the board links.
        out: the file of the board.
        decisions: of small experiments and larger ones; result of
            `harness.report.findings.decisions.read_decisions`.
    """
    accuracy = decision_accuracy(found)
    reported = {one.report for finding in found for one in finding.evidence}
    return {
        "areas": [(area, list(own)) for area, own in groupby(found, lambda one: one.claim.area)],
        "counts": counts(found),
        "num_claims": len(CLAIMS),
        "accuracy": accuracy and (_percent(accuracy[0]), _interval(*accuracy[1:])),
        "num_counted": num_counted(found),
        "num_beside": num_beside(found),
        "budgets": _budgets(found),
        "lacking_seeds": _lacking_seeds(found),
        "few": FEW,
        "many": MANY,
        "decisions": [_ordered_alike(one) for one in decisions],
        "experiments": number_of(len(reported), "experiment"),
        "folder": reports.name,
        "shown": shown,
        "opened": lambda finding: finding.by_weight[:MAX_OPEN],
        "folded": folded,
        "link": lambda report, file="README.md": relative(reports / report / file, out),
    }


def _budgets(found: Sequence[Finding]) -> list[tuple[str | int, ...]]:
    """Rows of tokens, confirmed, refuted, share of confirmed, interval."""
    return [
        (_range(*ends), confirmed, refuted, _percent(share), _interval(*interval))
        for ends, (confirmed, refuted, (share, *interval)) in accuracy_by_budget(found).items()
    ]


def _ordered_alike(one: ReportDecisions) -> tuple[str | int, ...]:
    """A row of report, axis, level, last level, pairs, and how many are ordered alike: of all, of
    those that differ, and by one seed."""
    level, of = one.level, one.level.found
    alike = f"{of.alike} ({_percent(of.accuracy)})"
    settled = f"{of.settled_alike} of {of.settled}"
    return (
        *(one.report, level.along, level.level, level.of),
        *(of.pairs, alike, settled, _percent(of.one_seed)),
    )


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def _percent(share: float) -> str:
    return MISSING if isnan(share) else f"{100 * share:.0f} %"


def relative(file: Path, page: Path) -> str:
    """A link from a page to a file."""
    return Path(os.path.relpath(file, page.parent)).as_posix()


def folded(finding: Finding) -> tuple[str, list[Evidence]]:
    """The results that a reader opens, and how many there are of each verdict."""
    rest = finding.by_weight[MAX_OPEN:]
    numbers = Counter(one.verdict for one in rest)
    return ", ".join(f"{number} more {word}" for word, number in numbers.items()), rest


def _range(low: float, high: float) -> str:
    """A range of tokens in words."""
    if not low:
        return f"below {high / 1e6:g}M"
    return f"from {low / 1e6:g}M" if high == float("inf") else f"{low / 1e6:g}M to {high / 1e6:g}M"


def shown(one: Evidence) -> str:
    """The verdict with the difference, its unit and its interval."""
    verdict = f"{one.verdict} here, {one.alone} in the report" if one.alone else one.verdict
    if one.difference is None or one.low is None or one.high is None:
        return verdict
    unit = "" if one.unit == POINTS else f" {one.unit}"
    figure = f"{verdict}, {amount(one.difference, one.unit)}{unit}"
    if one.low == one.high:  # what is counted has no p
        return f"{figure} ({'exact' if one.p_value is None else 'the same in every run'})"
    ends = f"{amount(one.low, one.unit)} to {amount(one.high, one.unit)}"
    return f"{figure} ({ends}; {_seeds(one)})"


def _seeds(one: Evidence) -> str:
    """How many seeds there are, and how many would show a difference of the observed size."""
    if one.seeds_needed == inf:
        return f"{one.num_seeds} seeds, more would not do"
    if one.seeds_needed == TOO_MANY:
        return f"{one.num_seeds} of more than {MAX_SEEDS:,} seeds"
    if one.seeds_needed:
        return f"{one.num_seeds} of {one.seeds_needed:.0f} seeds"
    return number_of(one.num_seeds, "seed")


def _lacking_seeds(found: Sequence[Finding]) -> tuple[int, int, int, int]:
    """The number of inconclusive results that lack seeds; of these, how many need at most FEW, at
    most MANY, and more or no number of them."""
    results = {(of.report, of.expectation): of for one in found for of in one.evidence}
    needed = [one.seeds_needed for one in results.values() if one.seeds_needed]
    few = sum(number <= FEW for number in needed)
    many = sum(FEW < number <= MANY for number in needed)
    return len(needed), few, many, len(needed) - few - many
