"""The differences that an experiment expects: in the average, a column, a probe or a quantity."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeGuard

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    Comparer,
    Outcome,
    enough_seeds,
)
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.intersection_union import decisive
from harness.analysis.statistics.multiple_testing import holm
from harness.analysis.statistics.rank_agreement import PairDifferences, rank_agreement
from harness.experiment.expectation import (
    Both,
    Comparison,
    Expectation,
    Level,
    RankAgreement,
    Trend,
)
from harness.experiment.outcomes import GAP, reached_level
from harness.report.declared import predicted_line
from harness.report.expected_differences import (
    curves_of,
    difference_of,
    exact,
    outcome_of,
    outcome_of_scores,
    values_of,
)
from harness.report.looks import at_look, current_look
from harness.report.manipulation_checks import void_level, void_reasons
from harness.report.verdict import Claim


def claims(results: Results, compared: Comparer) -> list[Claim]:
    """The expectations of the experiment in their order, with p by Holm among them. With declared
    looks, those of the last look that every arm has reached.

    Args:
        compared: compares arms in the columns and the average (`harness.leaderboard.build`).
    """
    if look := results.get(current_look):
        results, compared = at_look(results, look, compared)
    known = [one for one in results.experiment.expectations if set(one.arms) <= set(results.arms)]
    number = sum(not one.is_counted for one in known)
    found = [_claim(results, compared, one, max(1, number)) for one in known]
    return list(_adjusted([look.judged(one) for one in found] if look else found))


def _claim(results: Results, compared: Comparer, one: Expectation, number: int) -> Claim:
    """An expectation of a number, without p by Holm."""
    if isinstance(one, RankAgreement):
        return _ranking(results, compared, one, number)
    outcome = outcome_of(results, compared, one)
    curves = [of for part in _parts(one) if (of := curves_of(results, part))]
    undecided = "; ".join(dict.fromkeys(of.undecided for of in curves if of.undecided))
    decider = _decider(results, outcome, one)
    found = difference_of(results, outcome, decider)
    if found and undecided:  # values without spread would count as certain among other tests
        found = replace(found, p_value=1.0)
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    return Claim(
        one,
        found,
        [arm for arm in one.arms if arm in checkpoints],
        void=_void(results, compared, outcome, one),
        decider="" if decider is one else decider.text,
        reversed_steps=_reversed_steps(results, outcome, one) if isinstance(one, Trend) else (),
        predicted=predicted_line(results, one),
        level=(1 - LEVEL) / number,
        undecided=undecided,
        note="".join(dict.fromkeys(of.note for of in curves)),
    )


def _ranking(results: Results, compared: Comparer, one: RankAgreement, number: int) -> Claim:
    """A rank agreement. It is never void: pairs of arms that have learned nothing, or are at the
    highest score, are not distinguished, and count against what is to be shown."""
    first, second = (_gaps(results, compared, outcome, one.ranked) for outcome in one.by)
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    found = (
        rank_agreement(pairs, one.level, 1 - results.coverage) if len(pairs) == len(first) else None
    )
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    single_runs = [arm for arm in one.arms if arm in checkpoints]
    return Claim(
        one,
        found,
        single_runs,
        level=(1 - LEVEL) / number,
        note=_undistinguished(pairs, 1 - results.coverage),
    )


def _gaps(
    results: Results, compared: Comparer, name: str, arms: Sequence[str]
) -> list[Difference | None]:
    """The differences of all pairs of arms in an outcome, with the better side above zero."""
    pairs = [
        Comparison(better=better, worse=worse, outcome=name)
        for better, worse in combinations(arms, 2)
    ]
    outcome = outcome_of(results, compared, pairs[0])
    found = [
        difference_of(results, outcome, pair) or _of_same_runs(results, pair) for pair in pairs
    ]
    below = pairs[0].expected_side == "below"
    return [gap.turned if gap and below else gap for gap in found]


def _of_same_runs(results: Results, pair: Comparison) -> Difference | None:
    """No difference of arms with the same runs, and so equal values; null of other arms."""
    known = pair.quantities and set(pair.arms) <= values_of(results, pair).keys()
    return exact(0.0) if known else None


def _undistinguished(pairs: Sequence[PairDifferences], threshold: float) -> str:
    """How many pairs of arms may be equal in an outcome, to follow another text."""
    equal = sum(max(one.p_value, other.p_value) >= threshold for one, other in pairs)
    return f"; {equal} of {len(pairs)} pairs of arms may be equal in an outcome" if equal else ""


def _parts(one: Expectation) -> Sequence[Expectation]:
    """The comparisons that are judged each for itself, or the expectation."""
    return one.parts if isinstance(one, Both) else (one,)


def _decider(results: Results, outcome: Outcome | None, one: Expectation) -> Expectation:
    """The comparison that decides whether both hold; of other forms, the expectation. One without a
    difference, or with too few seeds for a verdict, comes first."""
    parts = _parts(one)
    found = [difference_of(results, outcome, part) for part in parts] if len(parts) > 1 else []
    known = [gap for gap in found if gap and _is_decided(one, gap)]
    if len(known) < len(found):
        return next(
            part
            for part, gap in zip(parts, found, strict=True)
            if not gap or not _is_decided(one, gap)
        )
    return parts[decisive(known, one.expected_side == "above")] if known else one


def _void(
    results: Results, compared: Comparer, outcome: Outcome | None, one: Expectation
) -> Sequence[str]:
    """Why a comparison of scores says nothing; of two comparisons, why one does. A level may be
    that of chance or of the highest score. Of a gap, arms must have learned its first part."""
    if isinstance(one, Both):
        reasons = [why for part in one.parts for why in _void(results, compared, outcome, part)]
        return list(dict.fromkeys(reasons))
    if reached := reached_level(one.outcome):
        score = outcome_of_scores(results, compared, reached.score)
        return void_level(results, score, one.arms, reached.level)
    if outcome is None or isinstance(one, Level):
        return ()
    first, *others = one.outcome.split(GAP)
    learned = outcome_of_scores(results, compared, first) if others else None
    return void_reasons(results, outcome, one, learned)


def _reversed_steps(results: Results, outcome: Outcome | None, one: Trend) -> list[str]:
    """Neighbours of a trend that differ significantly in the other direction."""
    found = []
    for better, worse in one.steps:
        step = Comparison(better=worse, worse=better, outcome=one.outcome)
        gap = difference_of(results, outcome, step)
        if gap and _is_decided(one, gap) and _lies_beyond(one, gap):
            found.append(step.text)
    return found


def _is_decided(one: Expectation, gap: Difference) -> bool:
    return one.is_counted or enough_seeds(gap)


def _lies_beyond(one: Expectation, gap: Difference) -> bool:
    """Whether the interval lies on the side of the better arm."""
    return gap.high < 0 if one.expected_side == "below" else gap.low > 0


def named_pairs(results: Results) -> list[tuple[str, str]]:
    """The two arms of the comparisons in the average, better one first."""
    return [
        (one.better, one.worse)
        for one in results.experiment.expectations
        if is_pair(one) and set(one.arms) <= set(results.arms)
    ]


def is_pair(expectation: Expectation) -> TypeGuard[Comparison]:
    """Whether it says which of two arms has the higher average, as the pairs of a report do."""
    return isinstance(expectation, Comparison) and expectation.outcome == AVERAGE


def _adjusted(found: Sequence[Claim]) -> Iterator[Claim]:
    """The claims with p by Holm among those with enough seeds; of what is counted, there is no
    p."""
    adjusted = iter(holm([one.found.p_value for one in found if one.found and _is_tested(one)]))
    for one in found:
        yield replace(one, adjusted=float(next(adjusted))) if _is_tested(one) else one


def _is_tested(one: Claim) -> bool:
    return one.found is not None and enough_seeds(one.found) and not one.is_counted
