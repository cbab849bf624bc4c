"""What follows from the differences between arms for what was expected of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    MAX_ROWS,
    Compared,
    Differences,
    enough_seeds,
    screened,
)
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import holm
from harness.leaderboard.table import Table

Names = tuple[str, str]
MANY_ARMS = 8
"""With more arms than this not every pair is shown: the pages would be of nothing else."""


@dataclass(frozen=True)
class Pair:
    """Two arms, and how far the first is above the second."""

    first: str
    second: str
    expected: bool
    """Whether the source says that the first is better."""
    differences: Differences
    claim: float | None = None
    """p of the average's difference by Holm, among the expected pairs; null of another pair, and of
    arms with too few seeds."""
    screen: Mapping[str, float] = field(default_factory=dict)
    """The keys of `differences` to their p by Benjamini-Hochberg: the average's among those of all
    pairs of arms, as for ranks; a column's among all columns of all pairs. Without those of too few
    seeds."""

    @property
    def average(self) -> Difference | None:
        """The difference on the suite's average."""
        return self.differences[AVERAGE]


@dataclass(frozen=True)
class Verdict:
    """What the data says of one expected comparison."""

    pair: Pair
    word: Literal["confirmed", "refuted", "inconclusive"]
    reason: str


def judge(pair: Pair) -> Verdict:
    """By whether the interval of the average's difference excludes zero, and on which side, and
    whether it still would as one of several claims.

    One pretraining seed (of the arm with fewer, on all tasks of the average) decides nothing: how
    far two runs of one arm lie apart is not known then, and the interval leaves it out.
    """
    found = pair.average
    if found is None:
        return Verdict(pair, "inconclusive", "the average is missing for one of them")
    if not enough_seeds(found):
        reason = "one pretraining seed cannot show how far two runs of one arm lie apart"
        return Verdict(pair, "inconclusive", reason)
    if found.low <= 0 <= found.high:
        return Verdict(pair, "inconclusive", "the interval includes zero")
    if pair.claim is not None and pair.claim >= 1 - LEVEL:
        reason = "the interval excludes zero, but not enough for one of several expectations"
        return Verdict(pair, "inconclusive", reason)
    if found.low > 0:
        return Verdict(pair, "confirmed", "the interval lies above zero")
    return Verdict(pair, "refuted", "the interval lies below zero")


def pairwise(results: Results, table: Table, compared: Compared) -> tuple[Pair, ...]:
    """Every pair of arms that have results, expected ones first and in the expected direction; of
    more than MANY_ARMS, the others are those of the arm that ranks first, and their p are adjusted
    for all pairs, as that arm was picked after looking.

    Args:
        compared: compares two arms by name (`harness.leaderboard.experiment_table`).
    """
    named = [(side.better, side.worse) for side in results.experiment.expect]
    expected = [pair for pair in named if set(pair) <= set(results.arms)]
    others = list(combinations(results.arms, 2))
    if len(results.arms) > MANY_ARMS:
        first = table.rows[0].name
        others = [(first, arm) for arm in results.arms if arm != first]
    seen = {frozenset(pair) for pair in expected}
    shown = [*expected, *(pair for pair in others if frozenset(pair) not in seen)]
    pairs = [Pair(*names, names in expected, compared(*names)) for names in shown]
    screens = _screens(results.arms, shown, compared)
    claims = _claims(pairs)
    return tuple(
        replace(pair, claim=claims.get(names), screen=screens[names])
        for names, pair in zip(shown, pairs, strict=True)
    )


def _claims(pairs: Sequence[Pair]) -> dict[Names, float]:
    """p of the averages by Holm, of the expected pairs that can be judged."""
    judged = {
        (pair.first, pair.second): pair.average.p_value
        for pair in pairs
        if pair.expected and pair.average and enough_seeds(pair.average)
    }
    return dict(zip(judged, map(float, holm(list(judged.values()))), strict=True))


def _screens(
    arms: Sequence[str], shown: Sequence[Names], compared: Compared
) -> dict[Names, dict[str, float]]:
    """p by Benjamini-Hochberg of the differences shown, among those of all pairs of arms: averages
    by themselves, so that they say what ranks say, and all columns together."""
    seen = {frozenset(pair) for pair in shown}
    hidden = [pair for pair in combinations(arms, 2) if frozenset(pair) not in seen]
    taken = [*shown, *(hidden if len(arms) <= MAX_ROWS else ())]
    unseen = 0 if len(arms) <= MAX_ROWS else len(hidden)
    averages = {(names, AVERAGE): compared(*names)[AVERAGE] for names in taken}
    columns = {
        (names, name): one
        for names in taken
        for name, one in compared(*names).items()
        if name != AVERAGE
    }
    num_columns = len(columns) // len(taken) if taken else 0
    found = screened(averages, unseen) | screened(columns, unseen * num_columns)
    screens: dict[Names, dict[str, float]] = {names: {} for names in taken}
    for (names, name), p_value in found.items():
        screens[names][name] = p_value
    return screens
