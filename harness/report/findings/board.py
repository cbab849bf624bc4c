"""Claims of the literature beside the verdicts of reports.

A claim may have expectations in several reports. It is confirmed if all decisions on them confirm
it, refuted if all refute it, and mixed otherwise. A decision is a verdict whose p also is below
0.05 among all expectations but void ones by Benjamini and Hochberg's correction, which limits the
expected share of false decisions. Relations between published numbers stand beside them and do not
count among the decisions.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from scipy.stats import binomtest

from harness.analysis.comparison.differences import LEVEL
from harness.analysis.statistics.multiple_testing import benjamini_hochberg
from harness.experiment.claims import CLAIMS, LiteratureClaim
from harness.leaderboard.published_relations import Relation
from harness.report.verdict_rows import COLUMNS

VERDICTS = "verdicts.csv"
DECISIONS = ("confirmed", "refuted")
WORDS = (*DECISIONS, "mixed", "inconclusive", "void", "published only", "not tested")
"""Verdicts on claims, in the order of the board's summary. *Published only*: no report has an
expectation, but published numbers are compared."""


@dataclass(frozen=True)
class Evidence:
    """A verdict of a report on an expectation."""

    report: str
    """Folder of the report below that of all reports."""
    claims: tuple[str, ...]
    expectation: str
    verdict: str
    difference: float | None
    unit: str
    low: float | None
    high: float | None
    p_value: float | None
    num_seeds: int
    reason: str
    seeds_needed: float | None = None
    """As `harness.report.verdict.Verdict.seeds_needed`."""
    tokens: float | None = None
    """The largest number that one of the arms is pretrained on; null if it is not known."""
    alone: str = ""
    """The verdict of the report, if the correction over the board takes it back."""

    @property
    def is_judged(self) -> bool:
        """Whether it counts among the tests of the board."""
        return self.p_value is not None and self.num_seeds > 1 and self.verdict != "void"


@dataclass(frozen=True)
class Finding:
    """A claim with what reports say about it."""

    claim: LiteratureClaim
    verdict: str
    """One of WORDS."""
    evidence: Sequence[Evidence]
    published: Sequence[Relation] = ()
    """The claim in published tables."""

    @property
    def decided(self) -> list[Evidence]:
        """The decisions among the evidence."""
        return [one for one in self.evidence if one.verdict in DECISIONS]

    @property
    def by_weight(self) -> list[Evidence]:
        """The evidence: decisions first, and of them the rarer verdict; the rest as it is."""
        numbers = Counter(one.verdict for one in self.decided)
        rest = [one for one in self.evidence if one.verdict not in DECISIONS]
        return [*sorted(self.decided, key=lambda one: numbers[one.verdict]), *rest]


def read_evidence(reports: Path) -> list[Evidence]:
    """The verdicts of all reports below a folder, by the names of their folders.

    Raises:
        ValueError: a file of verdicts has other columns, an unknown claim, or no number where one
            must be.
    """
    files = sorted(reports.rglob(VERDICTS))
    return [one for file in files for one in _read(file, str(file.parent.relative_to(reports)))]


def _read(file: Path, report: str) -> list[Evidence]:
    reader = csv.DictReader(file.read_text(errors="replace").splitlines())
    try:
        head, rows = list(reader.fieldnames or ()), list(reader)
    except csv.Error as error:
        raise ValueError(f"{file}: cannot be read: {error}") from error
    if head != COLUMNS:
        raise ValueError(f"{file}: the columns must be {', '.join(COLUMNS)}; make the report again")
    try:
        found = [_evidence(report, row) for row in rows]
    except ValueError as error:
        raise ValueError(f"{file}: a line does not have the values of its columns") from error
    if unknown := sorted({name for one in found for name in one.claims} - CLAIMS.keys()):
        raise ValueError(f"{file}: unknown claims: {', '.join(unknown)}")
    return found


def _evidence(report: str, row: Mapping[str, str]) -> Evidence:
    if None in row.values() or None in row:
        raise ValueError("the line has another number of cells")
    if row["verdict"] not in (*DECISIONS, "inconclusive", "void"):
        raise ValueError("the verdict is not known")
    difference, low, high, p_value = (
        float(row[name]) if row[name] else None for name in ("difference", "low", "high", "p_value")
    )
    return Evidence(
        report=report,
        claims=tuple(row["claims"].split()),
        expectation=row["expectation"].removeprefix("'"),
        verdict=row["verdict"],
        difference=difference,
        unit=row["unit"],
        low=low,
        high=high,
        p_value=_checked(p_value),
        num_seeds=int(row["num_seeds"] or 0),
        reason=row["reason"],
        seeds_needed=float(row["seeds_needed"]) if row["seeds_needed"] else None,
        tokens=float(row["tokens"]) if row["tokens"] else None,
    )


def _checked(p_value: float | None) -> float | None:
    if p_value is not None and not 0 <= p_value <= 1:
        raise ValueError("p must be between 0 and 1")
    return p_value


def screened(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same, with decisions as inconclusive whose p is not below 0.05 among all but void ones,
    which cannot be decisions. Exact differences have no p."""
    judged = [one for one in evidence if one.is_judged]
    p_values = [one.p_value for one in judged if one.p_value is not None]
    adjusted = dict(zip(map(id, judged), benjamini_hochberg(p_values), strict=True))
    reason = "p is not below 0.05 among all expectations of the reports but void ones"
    return [
        replace(one, verdict="inconclusive", reason=reason, alone=one.verdict)
        if one.verdict in DECISIONS and adjusted.get(id(one), 0.0) >= 1 - LEVEL
        else one
        for one in evidence
    ]


def findings(evidence: Sequence[Evidence], published: Sequence[Relation] = ()) -> list[Finding]:
    """All claims in their order, with the verdicts of reports.

    Args:
        evidence: result of `read_evidence`.
        published: result of `harness.leaderboard.published_relations.published_relations`.
    """
    known = screened(evidence)
    return [
        _finding(
            claim,
            [one for one in known if name in one.claims],
            [one for one in published if one.claim == name],
        )
        for name, claim in CLAIMS.items()
    ]


def _finding(
    claim: LiteratureClaim, evidence: Sequence[Evidence], published: Sequence[Relation]
) -> Finding:
    verdict = overall(evidence)
    if published and verdict == "not tested":
        verdict = "published only"
    return Finding(claim, verdict, evidence, published)


def overall(evidence: Sequence[Evidence]) -> str:
    """The verdict of reports on a claim: one of WORDS."""
    words = {one.verdict for one in evidence}
    decided = words & set(DECISIONS)
    if len(decided) == 2:
        return "mixed"
    for word in (*decided, "inconclusive", "void"):
        if word in words:
            return word
    return "not tested"


def counts(found: Sequence[Finding]) -> dict[str, int]:
    """Each of WORDS to its number of claims."""
    numbers = Counter(one.verdict for one in found)
    return {word: numbers[word] for word in WORDS}


BUDGETS = (1e6, 3e6, 1e7)
"""Tokens that separate the ranges of `accuracy_by_budget`."""


def accuracy_by_budget(
    found: Sequence[Finding],
) -> dict[tuple[float, float], tuple[int, int, tuple[float, float, float]]]:
    """`decision_accuracy` of the evidence with budgets of some range: (from, below) in tokens to
    the numbers of confirmed and refuted claims, and it."""
    ends = (0.0, *BUDGETS, float("inf"))
    by_range = {}
    for low, high in pairwise(ends):
        own = [_within(one, low, high) for one in found]
        if accuracy := decision_accuracy(own):
            numbers = counts(own)
            by_range[low, high] = (numbers["confirmed"], numbers["refuted"], accuracy)
    return by_range


def _within(one: Finding, low: float, high: float) -> Finding:
    """A finding by the evidence with a budget in a range of tokens."""
    kept = [of for of in one.evidence if of.tokens is not None and low <= of.tokens < high]
    return Finding(one.claim, overall(kept), kept)


def num_counted(found: Sequence[Finding]) -> int:
    """How many claims are decided by exact counts alone, such as parameters, without any test."""
    decided = [one for one in found if one.verdict in DECISIONS]
    return sum(all(of.p_value is None for of in one.decided) for one in decided)


def num_beside(found: Sequence[Finding]) -> int:
    """How many claims are decided although other results on them are inconclusive or void."""
    decided = [one for one in found if one.verdict in DECISIONS]
    return sum(len(one.decided) < len(one.evidence) for one in decided)


def decision_accuracy(found: Sequence[Finding]) -> tuple[float, float, float] | None:
    """The share of the decided claims that point in the direction of the literature, with its 95 %
    interval (Clopper and Pearson 1934, Biometrika 26); mixed claims count as undecided. Null if
    none is decided.

    Small experiments decide right where large ones would decide alike (Magnusson et al. 2025,
    "DataDecide", ICML, call it decision accuracy).
    """
    numbers = counts(found)
    decided = numbers["confirmed"] + numbers["refuted"]
    if not decided:
        return None
    interval = binomtest(numbers["confirmed"], decided).proportion_ci(LEVEL, method="exact")
    return numbers["confirmed"] / decided, float(interval.low), float(interval.high)
