"""The differences that an experiment expects: in the average, a column, a probe or a loss."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.analysis.comparison.differences import (
    LEVEL,
    Outcome,
    enough_seeds,
    same_checkpoints,
)
from harness.analysis.comparison.probes import probe_runs
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.frames.scores import probe_items_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference, Runs
from harness.analysis.statistics.multiple_testing import holm
from harness.experiment.experiment import LOSSES, Comparison
from harness.report.sections.transfer import comparable
from harness.report.verdict import Key, Pair
from harness.tasks.probes.columns import probe_columns


def expectations(results: Results, pairs: Sequence[Pair]) -> list[Pair]:
    """The expected pairs in the order of the experiment, with p by Holm among them.

    Args:
        pairs: result of `harness.report.pairwise.pairwise`.
    """
    found = list(_expected(results, pairs))
    adjusted = holm_of(found)
    return [replace(pair, claim=adjusted.get(pair.key)) for pair in found]


def adjusted_claims(results: Results, pairs: Sequence[Pair]) -> dict[Key, float]:
    """p of the expected pairs by Holm among them; without pairs with too few seeds.

    Args:
        pairs: the pairs of arms, without p by Holm.
    """
    return holm_of(list(_expected(results, pairs)))


def holm_of(expected: Sequence[Pair]) -> dict[Key, float]:
    """p of the outcomes by Holm among the expected pairs with enough seeds."""
    judged = {
        pair.key: pair.judged.p_value
        for pair in expected
        if pair.judged and enough_seeds(pair.judged)
    }
    return dict(zip(judged, map(float, holm(list(judged.values()))), strict=True))


def named_pairs(results: Results) -> list[tuple[str, str]]:
    """The arms of the expectations about averages and columns, which `pairwise` compares."""
    probes = probe_columns(results.experiment.evaluate.probes)
    return [
        (one.better, one.worse)
        for one in results.experiment.expect
        if one.outcome not in LOSSES
        and one.outcome not in probes
        and {one.better, one.worse} <= set(results.arms)
    ]


def _expected(results: Results, pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The expected pairs without Holm's correction."""
    compared = {(pair.first, pair.second): pair for pair in pairs}
    probes = probe_columns(results.experiment.evaluate.probes)
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    for one in results.experiment.expect:
        names, outcome = (one.better, one.worse), one.outcome
        if not set(names) <= set(results.arms):
            continue
        if outcome not in LOSSES and outcome not in probes:
            yield replace(compared[names], expected=True, outcome=outcome)
            continue
        difference = _loss_difference if outcome in LOSSES else _probe_difference
        single = [arm for arm in names if arm in checkpoints]
        found = {outcome: difference(results, one)}
        yield Pair(*names, True, found, single, outcome=outcome)


def _loss_difference(results: Results, one: Comparison) -> Difference | None:
    """The difference in a loss; null if the losses of the two arms cannot be compared."""
    names = {one.better, one.worse}
    runs = results.get(pretrain_runs_frame)
    losses = runs.dropna(subset=one.outcome).groupby("arm")[one.outcome]
    groups = comparable(results, by_byte=one.outcome == "bits_per_byte")
    group = next((group for group in groups if names <= set(group)), ())
    values = {str(arm): own.to_numpy(float) for arm, own in losses if arm in group}
    if not names <= values.keys():
        return None
    return compared_by_seeds(values, LEVEL)(one.better, one.worse)


def _probe_difference(results: Results, one: Comparison) -> Difference | None:
    """The difference in the accuracy of a probe x 100; null if an arm has none."""
    column = probe_columns(results.experiment.evaluate.probes)[one.outcome]
    paired = same_checkpoints(results.plan.differences)
    return Outcome(results.get(_probe_runs), [(column,)], paired).difference(one.better, one.worse)


def _probe_runs(results: Results) -> Mapping[str, Mapping[str, Runs]]:
    return probe_runs(results.get(probe_items_frame), results.arms)
