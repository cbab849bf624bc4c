"""The pairs of arms that a report compares."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from harness.analysis.comparison.differences import AVERAGE, MAX_ROWS, Compared, Comparer, screened
from harness.analysis.results import Results
from harness.leaderboard.table import Table
from harness.report.expectations import claims, is_pair, named_pairs
from harness.report.verdict import Pair

Names = tuple[str, str]
MANY_ARMS = 8
"""With more arms than this, not all pairs are shown."""


def pairwise(results: Results, table: Table, compared: Comparer) -> tuple[Pair, ...]:
    """All pairs of arms, expected ones first and in the expected direction. Of more than MANY_ARMS
    arms, the other pairs are those with the first-ranked arm; their p are adjusted for all pairs,
    because that arm is selected by its results.

    Args:
        compared: compares two arms by name (`harness.leaderboard.build`).
    """
    named = list(dict.fromkeys(named_pairs(results)))
    others = list(combinations(results.arms, 2))
    if len(results.arms) > MANY_ARMS:
        first = table.rows[0].name
        others = [(first, arm) for arm in results.arms if arm != first]
    seen = {frozenset(pair) for pair in named}
    shown = [*named, *(pair for pair in others if frozenset(pair) not in seen)]
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    pairs = [
        Pair(*names, names in named, compared(*names), [n for n in names if n in checkpoints])
        for names in shown
    ]
    screens = _screens(results.arms, shown, compared)
    found = [one for one in claims(results, compared) if is_pair(one.expectation)]
    adjusted = {one.expectation.arms: one.adjusted for one in found}
    return tuple(
        replace(pair, claim=adjusted.get(names), screen=screens[names])
        for names, pair in zip(shown, pairs, strict=True)
    )


def _screens(
    arms: Sequence[str], shown: Sequence[Names], compared: Compared
) -> dict[Names, dict[str, float]]:
    """p by Benjamini-Hochberg of the differences shown, among all pairs of arms: averages alone, so
    that they agree with the ranks, and all columns together."""
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
