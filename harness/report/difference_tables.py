"""The differences between arms as tables: the averages first, every column behind them."""

import csv
import io
from collections.abc import Iterable, Sequence

from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.comparison.resampling import REPLICATES
from harness.analysis.statistics.bootstrap import Difference
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.verdict import Pair

FEW_ROWS = 15
"""Differences that are all shown at once, at most; of more, those of the averages."""
NOTE = (
    "95 % intervals of two parts: the spread of pretraining seeds, by Student's quantile with the "
    "degrees of freedom of Welch (fine-tuning runs are averaged within their seed), and that of "
    f"the dev examples, resampled {REPLICATES:,} times for all runs at once. Arms that start from "
    "the same checkpoints are paired. p is two-sided; adjusted p is by Benjamini and Hochberg: of "
    "an average among the averages of all pairs of arms, by which ranks are shared, too; of a "
    "column among all columns of all pairs (bold in the table heeds each column by itself). Of "
    "those with one below 0.05, about 5 % are false at most. Expectations are held to their "
    "intervals, and several to Holm's correction among them alone, so that one may be confirmed "
    "where adjusted p is above 0.05. Arms of one pretraining seed have no adjusted p; columns in "
    "which both arms have the same runs, or one has no score, have no row."
)
MANY_NOTE = (
    " Of so many arms only the expected pairs are shown, and each arm beside the one that came out "
    "first; being picked for that, it flatters itself a little, which the adjusted p heeds."
)
ELSEWHERE = " Pairs of which an arm has no average stand among the columns alone."
ROUNDING = 1e-9
"""Differences below it are nothing but how numbers are summed."""
HEAD = ["difference", "95 % interval", "p", "adjusted p"]


def note(pairs: Sequence[Pair], many: bool) -> str:
    """How the differences were found, and which are shown; `many` arms are not all paired."""
    table = shown(pairs)
    elsewhere = folded(pairs) is not None and len(table.rows) < len(pairs)
    return NOTE + MANY_NOTE * many + ELSEWHERE * elsewhere


def shown(pairs: Sequence[Pair]) -> TextTable:
    """What is seen at once: all differences if they are few, else those of the averages, as far as
    they are known or expected."""
    if sum(len(pair.differences) for pair in pairs) <= FEW_ROWS:
        return every_column(pairs)
    seen = [pair for pair in pairs if pair.average or pair.expected] or pairs
    return TextTable(["average of", *HEAD], [[_named(p), *_cells(p, AVERAGE)] for p in seen])


def folded(pairs: Sequence[Pair]) -> TextTable | None:
    """Every column, where `shown` leaves some out."""
    if sum(len(pair.differences) for pair in pairs) <= FEW_ROWS:
        return None
    return every_column(pairs)


def every_column(pairs: Iterable[Pair]) -> TextTable:
    """A row for each pair and column, as far as they are known; the average has one in any case."""
    rows = [
        [_named(pair), column, *_cells(pair, column)]
        for pair in pairs
        for column, found in pair.differences.items()
        if found or column == AVERAGE
    ]
    return TextTable(["arms", "column", *HEAD], rows, text_columns=(0, 1))


def _named(pair: Pair) -> str:
    return f"{pair.first} − {pair.second}{' (expected > 0)' if pair.expected else ''}"


def _cells(pair: Pair, column: str) -> list[str]:
    found = pair.differences[column]
    if not found:
        return [MISSING] * len(HEAD)
    p_values = found.p_value, pair.screen.get(column)
    return [points(found.estimate), interval(found), *map(p_cell, p_values)]


def differences_csv(pairs: Sequence[Pair]) -> str:
    """Every difference with its numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = ["difference", "low", "high", "p_value", "p_benjamini_hochberg", "p_holm"]
    writer.writerow(["first", "second", "expected", "column", *numbers])
    for pair in pairs:
        for column, found in pair.differences.items():
            numbers = [""] * 6
            if found:
                claim = pair.claim if column == AVERAGE else None
                values = [found.estimate, found.low, found.high, found.p_value]
                more = [pair.screen.get(column), claim]
                numbers = ["" if value is None else f"{value:.4f}" for value in [*values, *more]]
            writer.writerow([pair.first, pair.second, str(pair.expected).lower(), column, *numbers])
    return text.getvalue()


def points(value: float) -> str:
    """A difference of scores with its sign, where it has one."""
    return f"{value:+.1f}".replace("-", "−") if abs(value) > ROUNDING else "0.0"


def interval(found: Difference) -> str:
    """From where to where; in words where there is nothing between the arms."""
    if found.low == found.high == 0:
        return "equal in every run"
    return f"{points(found.low)} to {points(found.high)}"


def p_cell(value: float | None) -> str:
    """A p-value, or what it lies below."""
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_of_claim(pair: Pair) -> str:
    """p of the average's difference, and what several expectations make of it."""
    if not pair.average:
        return ""
    alone = f"p {p_cell(pair.average.p_value)}"
    if pair.claim is None or pair.claim == pair.average.p_value:
        return alone
    return f"{alone}, by Holm {p_cell(pair.claim)}"
