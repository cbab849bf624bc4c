"""The difference between two arms, and the verdict on an expected one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.analysis.comparison.differences import AVERAGE, LEVEL, Differences, enough_seeds
from harness.analysis.statistics.bootstrap import Difference
from harness.experiment.experiment import LOSSES
from harness.report.two_groups import reason, unseen

Key = tuple[str, str, str]
"""Two arms and an outcome."""
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
    """What an expectation is about: the average, a column, a probe, or one of LOSSES."""

    @property
    def key(self) -> Key:
        """The arms and the outcome."""
        return self.first, self.second, self.outcome

    @property
    def average(self) -> Difference | None:
        """The difference in the suite's average."""
        return self.differences[AVERAGE]

    @property
    def judged(self) -> Difference | None:
        """The difference in the outcome; null if an arm has no value."""
        return self.differences.get(self.outcome)

    @property
    def claimed(self) -> str:
        """The expectation as text."""
        if self.outcome in LOSSES:
            return f"{self.first} < {self.second} in {LOSSES[self.outcome]}"
        place = "" if self.outcome == AVERAGE else f" on {self.outcome}"
        return f"{self.first} > {self.second}{place}"


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
        return Verdict(pair, "inconclusive", f"not every arm of the pair has {_lacking(pair)}")
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


def _lacking(pair: Pair) -> str:
    """The value that an arm of a pair does not have."""
    if pair.outcome in LOSSES:
        return f"comparable {LOSSES[pair.outcome]}"
    return "an average yet" if pair.outcome == AVERAGE else f"a score on {pair.outcome} yet"


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
