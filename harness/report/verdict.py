"""Differences between arms, and verdicts on the expected ones, in the average or in a loss."""

from collections.abc import Iterator, Mapping, Sequence
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
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import holm
from harness.experiment.experiment import LOSSES
from harness.leaderboard.table import Table
from harness.report.sections.transfer import comparable
from harness.report.two_groups import reason, unseen

Names = tuple[str, str]
Key = tuple[str, str, str]
"""Two arms and an outcome."""
MANY_ARMS = 8
"""With more arms than this, not all pairs are shown."""
UNITS = {"loss": "nats per predicted token", "bits_per_byte": "bits per byte"}
"""Units of the outcomes of which less is better."""


@dataclass(frozen=True)
class Pair:
    """Two arms, and the differences of the first minus the second."""

    first: str
    second: str
    expected: bool
    """Whether the experiment expects the first to be better in the outcome."""
    differences: Differences
    single_runs: Sequence[str] = ()
    """Those of the two arms that are checkpoints of one pretraining run."""
    claim: float | None = None
    """p of the difference in the outcome by Holm among the expected pairs; null for other pairs and
    for arms with too few seeds."""
    screen: Mapping[str, float] = field(default_factory=dict)
    """Key of `differences` to p by Benjamini-Hochberg: of the average among all pairs of arms, as
    for ranks; of a column among all columns of all pairs. Without differences of too few seeds."""

    outcome: str = AVERAGE
    """What an expectation is about: the average, or one of LOSSES."""

    @property
    def average(self) -> Difference | None:
        """The difference in the suite's average."""
        return self.differences[AVERAGE]

    @property
    def judged(self) -> Difference | None:
        """The difference in the outcome."""
        return self.differences[self.outcome]

    @property
    def claimed(self) -> str:
        """The expectation as text."""
        if self.outcome in LOSSES:
            return f"{self.first} < {self.second} in {LOSSES[self.outcome]}"
        return f"{self.first} > {self.second}"


@dataclass(frozen=True)
class Verdict:
    """Whether the results confirm one expected difference."""

    pair: Pair
    word: Literal["confirmed", "refuted", "inconclusive"]
    reason: str


def judge(pair: Pair) -> Verdict:
    """The verdict by the interval of the difference in the outcome, and by Holm's correction if
    several differences are expected.

    With one pretraining seed (of the arm with fewer, on all tasks of the average) it is
    inconclusive, because the interval does not include the variation between pretraining runs.
    Where runs of an arm fall into two groups, the reason says so; that of a decision says which
    share of an arm's runs may fail without being seen.
    """
    found, is_loss = pair.judged, pair.outcome in LOSSES
    if found is None:
        lacking = f"comparable {LOSSES[pair.outcome]}" if is_loss else "an average yet"
        return Verdict(pair, "inconclusive", f"not every arm of the pair has {lacking}")
    if not enough_seeds(found):
        return Verdict(pair, "inconclusive", _one_run(pair.single_runs))
    groups = reason(found, UNITS.get(pair.outcome, "points"))
    if found.low <= 0 <= found.high:
        return Verdict(pair, "inconclusive", f"the interval includes zero{groups}")
    if pair.claim is not None and pair.claim >= 1 - LEVEL:
        holms = "the interval excludes zero, but p is not below 0.05 after Holm's correction"
        return Verdict(pair, "inconclusive", f"{holms}{groups}")
    above = found.low > 0
    word: Literal["confirmed", "refuted"] = "refuted" if above == is_loss else "confirmed"
    side = "above" if above else "below"
    return Verdict(pair, word, f"the interval lies {side} zero{groups}{unseen(found)}")


def expectations(results: Results, pairs: Sequence[Pair]) -> list[Pair]:
    """The expected pairs in the order of the experiment: those of `pairs`, which are about the
    average, and those about losses.

    Args:
        pairs: result of `pairwise`.
    """
    about_losses = list(_loss_pairs(results))
    averages = [pair for pair in pairs if pair.expected]
    claims = _claims([*averages, *about_losses])
    found = {_key(pair): pair for pair in averages}
    found |= {_key(pair): replace(pair, claim=claims.get(_key(pair))) for pair in about_losses}
    declared = [(one.better, one.worse, one.outcome) for one in results.experiment.expect]
    return [found[key] for key in declared if key in found]


def _loss_pairs(results: Results) -> Iterator[Pair]:
    """Expected pairs about losses, without Holm's correction."""
    runs = results.get(pretrain_runs_frame)
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    for one in results.experiment.expect:
        names = one.better, one.worse
        if one.outcome not in LOSSES or not set(names) <= set(results.arms):
            continue
        losses = runs.dropna(subset=one.outcome).groupby("arm")[one.outcome]
        groups = comparable(results, by_byte=one.outcome == "bits_per_byte")
        found = None
        group = next((group for group in groups if set(names) <= set(group)), ())
        values = {str(arm): own.to_numpy(float) for arm, own in losses if arm in group}
        if set(names) <= values.keys():
            found = compared_by_seeds(values, LEVEL)(*names)
        single = [arm for arm in names if arm in checkpoints]
        yield Pair(*names, True, {one.outcome: found}, single, outcome=one.outcome)


def _one_run(checkpoints: Sequence[str]) -> str:
    """Why a difference with one pretraining run of an arm is inconclusive."""
    if not checkpoints:
        return "one pretraining seed gives no estimate of the variation between runs"
    named = " and ".join(checkpoints)
    are = "are checkpoints, each of" if len(checkpoints) > 1 else "is a checkpoint of"
    return (
        f"{named} {are} one pretraining run: the interval compares these models, not ways of "
        "pretraining"
    )


def pairwise(results: Results, table: Table, compared: Compared) -> tuple[Pair, ...]:
    """All pairs of arms, expected ones first and in the expected direction. Of more than MANY_ARMS
    arms, the other pairs are those with the first-ranked arm; their p are adjusted for all pairs,
    because that arm is selected by its results.

    Args:
        compared: compares two arms by name (`harness.leaderboard.build`).
    """
    expect = results.experiment.expect
    named = [(one.better, one.worse) for one in expect if one.outcome == AVERAGE]
    expected = [pair for pair in named if set(pair) <= set(results.arms)]
    others = list(combinations(results.arms, 2))
    if len(results.arms) > MANY_ARMS:
        first = table.rows[0].name
        others = [(first, arm) for arm in results.arms if arm != first]
    seen = {frozenset(pair) for pair in expected}
    shown = [*expected, *(pair for pair in others if frozenset(pair) not in seen)]
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    pairs = [
        Pair(*names, names in expected, compared(*names), [n for n in names if n in checkpoints])
        for names in shown
    ]
    screens = _screens(results.arms, shown, compared)
    claims = _claims([*pairs, *_loss_pairs(results)])
    return tuple(
        replace(pair, claim=claims.get(_key(pair)), screen=screens[names])
        for names, pair in zip(shown, pairs, strict=True)
    )


def _key(pair: Pair) -> Key:
    return pair.first, pair.second, pair.outcome


def _claims(pairs: Sequence[Pair]) -> dict[Key, float]:
    """p of the outcomes by Holm among the expected pairs with enough seeds."""
    judged = {
        _key(pair): pair.judged.p_value
        for pair in pairs
        if pair.expected and pair.judged and enough_seeds(pair.judged)
    }
    return dict(zip(judged, map(float, holm(list(judged.values()))), strict=True))


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
