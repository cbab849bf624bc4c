"""The differences between arms as tables: averages, and every column."""

from collections.abc import Iterable, Sequence

from harness.analysis.comparison.differences import AVERAGE, enough_seeds
from harness.analysis.comparison.resampling import REPLICATES
from harness.analysis.statistics.bootstrap import Difference
from harness.core.csv_text import csv_text
from harness.core.rounding import steady
from harness.experiment.expectation import RankAgreement
from harness.experiment.outcomes import POINTS
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.verdict import Claim, Pair

FEW_ROWS = 15
"""Up to this number, all differences are shown; above it, those of the averages."""
NOTE = (
    "95 % intervals combine two sources of variance: pretraining seeds (Student's t with "
    "Welch's degrees of freedom; fine-tuning runs are averaged within their seed) and dev "
    f"examples ({REPLICATES:,} resamples, the same for all runs; of whole groups where a task "
    "declares them). Arms that start from the same checkpoints are compared seed by seed (paired). "
    "Where runs of an arm fall into two groups, and with two seeds (three, if paired), every "
    "arm is taken to vary between seeds at least as much as all arms do on average. "
    "p is two-sided. Adjusted p controls the "
    "false discovery rate (Benjamini and Hochberg): for an average, among the averages of all "
    "pairs of arms, as for the ranks; for a column, among all columns of all pairs (bold scores"
    " in the leaderboard are adjusted within their column). Among differences with adjusted p "
    "below 0.05, about 5 % at most are expected to be false. Expected differences are judged by"
    " their intervals and, if there are several, by Holm's correction among them alone, so one "
    "may be confirmed although its adjusted p is above 0.05. Arms with one pretraining seed "
    "have no adjusted p. Columns are omitted if both arms have the same runs or one arm has no "
    "score."
)
MANY_NOTE = (
    " With this many arms, only the expected pairs and the pairs with the first-ranked arm are "
    "shown. Picking that arm after the fact favours it slightly; the adjusted p accounts for this, "
    "because it covers all pairs."
)
ELSEWHERE = " Pairs without a difference in the average appear only in the table of all columns."
LARGE, HUGE = 100, 1e9
"""From these on, amounts have no decimals, and are written with a power of ten."""
ROUNDING = 1e-9
"""Differences below it are rounding errors."""
HEAD = ["difference", "95 % interval", "p", "adjusted p"]


def note(pairs: Sequence[Pair], many: bool) -> str:
    """How the differences were computed and which are shown; of `many` arms, not all pairs are."""
    table = shown(pairs)
    elsewhere = folded(pairs) is not None and len(table.rows) < len(pairs)
    return NOTE + MANY_NOTE * many + ELSEWHERE * elsewhere


def shown(pairs: Sequence[Pair]) -> TextTable:
    """All differences if they are few, else those of the averages that are known or expected."""
    if sum(len(pair.differences) for pair in pairs) <= FEW_ROWS:
        return every_column(pairs)
    seen = [pair for pair in pairs if pair.average or pair.expected] or pairs
    return TextTable(["average of", *HEAD], [[_named(p), *_cells(p, AVERAGE)] for p in seen])


def folded(pairs: Sequence[Pair]) -> TextTable | None:
    """Every column; null if `shown` has them all."""
    if sum(len(pair.differences) for pair in pairs) <= FEW_ROWS:
        return None
    return every_column(pairs)


def every_column(pairs: Iterable[Pair]) -> TextTable:
    """One row for each pair and column with a known difference, and for each average."""
    rows = [
        [_named(pair), column, *_cells(pair, column)]
        for pair in pairs
        for column, found in pair.differences.items()
        if column == AVERAGE or (found and num_columns(pair) > 1)
    ]
    return TextTable(["arms", "column", *HEAD], rows, text_columns=(0, 1))


def num_columns(pair: Pair) -> int:
    """Number of columns besides the average, which is the same as a single column."""
    return len(pair.differences) - 1


def _named(pair: Pair) -> str:
    return f"{pair.first} − {pair.second}{' (expected > 0)' if pair.expected else ''}"


def _cells(pair: Pair, column: str) -> list[str]:
    found = pair.differences[column]
    if not found:
        return [MISSING] * len(HEAD)
    p_values = found.p_value, pair.screen.get(column)
    return [points(found.estimate), interval(found), *map(p_cell, p_values)]


def differences_csv(pairs: Sequence[Pair]) -> str:
    """Every difference as comma-separated text."""
    numbers = ["difference", "low", "high", "p_value", "p_benjamini_hochberg", "p_holm"]
    lines = [["first", "second", "expected", "column", *numbers]]
    for pair in pairs:
        for column, found in pair.differences.items():
            numbers = [""] * 6
            if found:
                claim = pair.claim if column == AVERAGE else None
                scores = (f"{value:.4f}" for value in (found.estimate, found.low, found.high))
                p_values = (found.p_value, pair.screen.get(column), claim)
                numbers = [*scores, *("" if p is None else f"{p:.4g}" for p in p_values)]
            lines.append([pair.first, pair.second, str(pair.expected).lower(), column, *numbers])
    return csv_text(lines)


def points(value: float) -> str:
    """A difference of scores with its sign; zero has none."""
    return f"{steady(value):+.1f}".replace("-", "−") if abs(value) > ROUNDING else "0.0"


def interval(found: Difference) -> str:
    """Both ends of an interval, or that all runs are equal."""
    if found.low == found.high == 0:
        return "equal in every run"
    return f"{points(found.low)} to {points(found.high)}"


def p_cell(value: float | None) -> str:
    """A p-value with three decimals, or `< 0.001`."""
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_of_look(value: float) -> str:
    """A p-value of the test at a look with two digits, as levels of early looks are small."""
    return f"{value:.2g}" if value >= 1e-9 else "< 1e-9"


def nats(value: float) -> str:
    """A difference of losses with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def amount(value: float, unit: str) -> str:
    """A difference with its sign, in as many digits as its unit needs; zero has none."""
    if unit == POINTS:
        return points(value)
    if not value:
        return "0"
    if abs(value) < LARGE:
        return nats(value)
    shown = f"{value:+,.0f}" if abs(value) < HUGE else f"{value:+.2e}"
    return shown.replace("-", "−")


def claimed_figure(claim: Claim) -> str:
    """The difference in the outcome with its unit; empty if it is unknown."""
    if not claim.found:
        return ""
    of_part = f" for {claim.decider}" if claim.decider else ""
    return f"{amount(claim.found.estimate, claim.unit)} {claim.unit}{of_part}"


def claimed_interval(claim: Claim) -> str:
    """`95 % interval`, p, and p after Holm's correction; empty if they are unknown or the
    difference is exact."""
    found = claim.found
    if not found or claim.is_counted:
        return ""
    shown = _claimed_ends(claim, found)
    if claim.p_of_look is not None:
        shown = f"{shown} (repeated)"
    p_value = f"p {p_cell(found.p_value)}"
    if claim.p_of_look is not None:
        p_value = f"p {p_of_look(claim.p_of_look)}, adjusted for looks {p_cell(found.p_value)}"
    if claim.adjusted is not None and claim.adjusted != found.p_value:
        p_value += f", after Holm's correction {p_cell(claim.adjusted)}"
    return f"95 % interval {shown}, {p_value}"


def _claimed_ends(claim: Claim, found: Difference) -> str:
    """Both ends of the interval in the unit of the claim, or why it has no width."""
    is_tau = isinstance(claim.expectation, RankAgreement)  # a few values, whatever the runs
    if found.low == found.high and enough_seeds(found) and not is_tau:
        return "of no width, as all runs of an arm are equal" if found.low else interval(found)
    if not claim.expectation.quantities and claim.unit == POINTS:
        return interval(found)
    ends = f"{amount(found.low, claim.unit)} to {amount(found.high, claim.unit)}"
    return ends if enough_seeds(found) else "unknown"
