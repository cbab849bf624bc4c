"""The difference between two arms, and the verdict on an expectation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from harness.analysis.comparison.differences import AVERAGE, LEVEL, Differences, enough_seeds
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.variance import MAX_SEEDS, Components, seeds_needed
from harness.experiment.expectation import Equality, Expectation, Level, RankAgreement, Trend
from harness.experiment.outcomes import LOSSES
from harness.report.two_groups import reason, unseen

Word = Literal["confirmed", "refuted", "inconclusive", "void"]
TOO_MANY = MAX_SEEDS + 1
"""Stands for more seeds than are tried."""


@dataclass(frozen=True)
class Pair:
    """Two arms, and the differences of the first minus the second."""

    first: str
    second: str
    expected: bool
    """Whether the experiment expects the first to be better in the average."""
    differences: Differences
    single_runs: Sequence[str] = ()
    """Those of the two arms that are checkpoints of one pretraining run."""
    claim: float | None = None
    """p of the average by Holm among the expectations; null for other pairs and for arms with too
    few seeds."""
    screen: Mapping[str, float] = field(default_factory=dict)
    """Key of `differences` to p by Benjamini-Hochberg: of the average among all pairs of arms, as
    for ranks; of a column among all columns of all pairs. Without differences of too few seeds."""

    @property
    def average(self) -> Difference | None:
        """The difference in the suite's average."""
        return self.differences[AVERAGE]


@dataclass(frozen=True)
class Claim:
    """An expectation with the difference that it is about."""

    expectation: Expectation
    found: Difference | None
    """The weighted sum over arms in the outcome, minus the level of a `Level`; null if an arm has
    no value."""
    single_runs: Sequence[str] = ()
    """Those of the arms that are checkpoints of one pretraining run."""
    adjusted: float | None = None
    """p by Holm among the expectations; null for arms with too few seeds."""
    void: Sequence[str] = ()
    """Why the results cannot answer it (`harness.report.manipulation_checks`)."""
    reversed_steps: Sequence[str] = ()
    """Steps of a trend whose difference is significant in the other direction: `b > a`."""
    predicted: str = ""
    """What was predicted, and when (`harness.report.declared`)."""
    level: float = 1 - LEVEL
    """At which p by Holm may count first: 0.05 over the number of expectations."""
    decider: str = ""
    """Of two comparisons that must both hold, the one that decides and whose difference is found;
    empty of other forms."""
    undecided: str = ""
    """Why the values cannot be compared, although all arms have some."""
    note: str = ""
    """What a reader must know of the values, to follow the reason."""
    look: str = ""
    """The look that it is of, with its level, or which look is waited for
    (`harness.report.looks`)."""
    p_of_look: float | None = None
    """p of the test at a look; that of `found` is adjusted for looks."""

    @property
    def outcome(self) -> str:
        """As for an expectation."""
        return self.expectation.outcome

    @property
    def is_trend(self) -> bool:
        """Whether it is about the order of three arms or more."""
        return isinstance(self.expectation, Trend)

    @property
    def unit(self) -> str:
        """The unit of the difference."""
        return self.expectation.unit

    @property
    def is_counted(self) -> bool:
        """Whether the difference is exact, without an interval."""
        return self.expectation.is_counted or bool(self.found and self.found.is_exact)


@dataclass(frozen=True)
class Verdict:
    """Whether the results confirm an expectation."""

    claim: Claim
    word: Word
    reason: str
    seeds_needed: float | None = None
    """Seeds per arm that would show a difference of the observed size in four of five cases, if it
    is inconclusive for want of seeds: TOO_MANY if more than MAX_SEEDS, infinite where no number of
    seeds shows it with these examples."""


def judge(claim: Claim) -> Verdict:
    """The verdict by the interval of the difference in the outcome, and by Holm's correction if
    there are several expectations.

    With one pretraining seed (of the arm with fewest, on all tasks of the average) it is
    inconclusive, because the interval does not include the variation between pretraining runs.
    Where runs of an arm fall into two groups, the reason says so; that of a decision says which
    share of an arm's runs may fail without being seen. It is void if the arms have learned nothing
    that could be compared.
    """
    found = claim.found
    if found is None and claim.look:
        return Verdict(claim, "inconclusive", claim.look)
    if found is None:
        every = "pair" if len(claim.expectation.arms) == 2 else "expectation"
        return Verdict(claim, "inconclusive", f"not every arm of the {every} has {_lacking(claim)}")
    if claim.is_counted:
        return Verdict(claim, *_counted(claim, found))
    if not enough_seeds(found):
        return Verdict(claim, "inconclusive", _one_run(claim.single_runs))
    if claim.void:
        return Verdict(claim, "void", "; ".join(claim.void))
    if claim.undecided:
        return Verdict(claim, "inconclusive", claim.undecided)
    groups = reason(found, claim.unit)
    p_value = found.p_value if claim.adjusted is None else claim.adjusted
    significant = p_value < 1 - LEVEL
    word, why = _decided(claim, found, significant)
    needed = _needed(claim, found) if _lacks_seeds(claim, found, significant) else None
    more = groups if word == "inconclusive" else f"{groups}{unseen(found)}"
    at = f"{claim.look}: " if claim.look else ""
    return Verdict(claim, word, f"{at}{why}{_seeds_text(claim, needed)}{claim.note}{more}", needed)


def _decided(claim: Claim, found: Difference, significant: bool) -> tuple[Word, str]:
    """The word and its reason, if there are enough seeds."""
    if isinstance(claim.expectation, Equality):
        margin = claim.expectation.margin
        word, why = _within(margin, claim.unit, found, significant)
        beyond = word == "confirmed" and (found.low <= -margin or found.high >= margin)
        # Looks have levels of their own.
        return word, f"{why}, as does the 90 % interval" if beyond and not claim.look else why
    bound, named = claim.expectation.bound, _named_bound(claim)
    interval = f"the interval of {claim.decider}" if claim.decider else "the interval"
    if found.low <= bound <= found.high:
        return "inconclusive", f"{interval} includes {named}"
    if claim.adjusted is not None and not significant:
        holms = f"{interval} excludes {named}, but p is not below 0.05 after Holm's correction"
        return "inconclusive", holms
    side = "above" if found.low > bound else "below"
    what = "the interval of the linear trend" if claim.is_trend else interval
    if side != claim.expectation.expected_side:
        return "refuted", f"{what} lies {side} {named}"
    if claim.reversed_steps:
        steps = " and ".join(claim.reversed_steps)
        return "inconclusive", f"{what} lies {side} {named}, but {steps} significantly"
    if claim.decider:
        return "confirmed", f"both intervals lie {side} zero; {claim.decider} has the larger p"
    return "confirmed", f"{what} lies {side} {named}"


def _named_bound(claim: Claim) -> str:
    """What the interval must exclude."""
    if isinstance(claim.expectation, (Level, RankAgreement)):
        return "the level"
    if bound := claim.expectation.bound:
        return f"{bound:+g} {_unit(bound, claim.unit)}".replace("-", "−", 1)
    return "zero"


def _unit(number: float, unit: str) -> str:
    """The unit of a number: 1 point, 2 points."""
    return unit.removesuffix("s") if abs(number) == 1 else unit


def _counted(claim: Claim, found: Difference) -> tuple[Word, str]:
    """The word and its reason for a difference that is the same in every run."""
    if isinstance(claim.expectation, Equality):
        holds = abs(found.estimate) < claim.expectation.margin
    else:
        above, bound = claim.expectation.expected_side == "above", claim.expectation.bound
        is_there = found.estimate > bound if above else found.estimate < bound
        holds = is_there and not claim.reversed_steps
    return "confirmed" if holds else "refuted", "the same in every run, so without an interval"


def _lacks_seeds(claim: Claim, found: Difference, significant: bool) -> bool:
    """Whether the interval or Holm's correction leaves open on which side of a bound it lies."""
    if isinstance(claim.expectation, Equality):
        return False
    within = found.low <= claim.expectation.bound <= found.high
    return within or (claim.adjusted is not None and not significant)


def _needed(claim: Claim, found: Difference) -> float | None:
    """As `Verdict.seeds_needed`; null if there are as many."""
    of_seeds = Components(found.seed_variance * found.num_seeds / 2, float("nan"), 0.0)
    known = [of_seeds, replace(of_seeds, examples=found.example_variance)]
    distance = abs(found.estimate - claim.expectation.bound)
    is_paired = found.sides == 1  # the test has S - 1 degrees of freedom
    without, needed = (
        seeds_needed(of, distance, 1, level=claim.level, paired=is_paired) for of in known
    )
    if without is None:
        return TOO_MANY
    if needed is None:
        return inf
    return None if needed <= found.num_seeds else needed


def _seeds_text(claim: Claim, needed: float | None) -> str:
    """How many seeds are needed, to follow another text."""
    what = "a distance of this size" if claim.expectation.bound else "a difference of this size"
    if needed is None:
        return ""
    if needed == TOO_MANY:
        return f"; more than {MAX_SEEDS:,} seeds per arm would show {what}"
    if needed == inf:
        return f"; more seeds would not show {what} with these examples"
    return f"; about {needed:.0f} seeds per arm would show {what}"


def _within(margin: float, unit: str, found: Difference, significant: bool) -> tuple[Word, str]:
    """Two one-sided tests of differences within the margin, or one of differences beyond it."""
    size = f"{margin:,.12g} {_unit(margin, unit)}"
    if not significant:
        return "inconclusive", _undecided(margin, size, found)
    if abs(found.estimate) < margin:
        return "confirmed", f"two one-sided tests exclude differences of {size} and more"
    return "refuted", f"a one-sided test excludes differences of {size} and less"


def _undecided(margin: float, size: str, found: Difference) -> str:
    """Why an equality is neither confirmed nor refuted."""
    excluded = "more" if -margin < found.low and found.high < margin else ""
    if found.low > margin or found.high < -margin:
        excluded = "less"
    if not excluded:
        return f"differences within and beyond {size} are both possible"
    without = f"the interval excludes differences of {size} and {excluded}"
    return f"{without}, but p is not below 0.05 after Holm's correction"


def _lacking(claim: Claim) -> str:
    """The value that an arm does not have."""
    if isinstance(claim.expectation, RankAgreement):
        return "comparable values of both outcomes yet"
    if named := " and of ".join(one.label for one in claim.expectation.quantities):
        return f"a comparable {named}" if claim.outcome in LOSSES else f"a value of {named} yet"
    return "an average yet" if claim.outcome == AVERAGE else f"a score on {claim.outcome} yet"


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
