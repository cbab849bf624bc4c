"""The signal and noise of the columns of a report."""

from collections.abc import Callable

import pytest

from harness.analysis.statistics.signal import signal_and_noise
from harness.leaderboard.signals import (
    BASELINES_NOTE,
    NOTE,
    PAIRED_NOTE,
    PARTLY_PAIRED_NOTE,
    TITLE,
    signal_table,
)
from harness.pretraining.recipes import RECIPES
from harness.report.sections import run_spread
from harness.report.sections.run_spread import signals, spread_section
from tests.made_up_results import MadeUpResults, with_recipes


def test_signal_and_noise_of_each_column(fabricate: Callable[..., MadeUpResults]) -> None:
    results = fabricate({"a": 0.9, "b": 0.6}, seeds=(4, 2))
    found = signals(results)
    (average,) = [one for name, one in found.items() if name == "average"]
    assert average.signal > 20 and average.p < 0.01 and average.ratio > 1
    table = signal_table(found)
    ratios = [float(row[3]) for row in table.rows if row[3] != "–"]
    assert ratios == sorted(ratios, reverse=True) and len(table.rows) == len(found)
    section = spread_section(results)
    assert section and section.tables[TITLE].rows == table.rows


def test_one_seed_has_no_noise_to_compare(fabricate: Callable[..., MadeUpResults]) -> None:
    section = spread_section(fabricate({"a": 0.9, "b": 0.6}, seeds=(1, 2)))
    assert section and not section.tables and not section.notes


def test_baselines_are_left_out(fabricate: Callable[..., MadeUpResults]) -> None:
    """Equal in all runs, one would make the noise of the others smaller."""
    results = fabricate({"a": 0.9, "b": 0.6, "c": 0.5}, seeds=(4, 1))
    results = with_recipes(results, c=RECIPES["majority"])
    assert {one.num_arms for one in signals(results).values()} == {2}
    section = spread_section(results)
    assert section and section.notes == [NOTE, BASELINES_NOTE]


def test_an_arm_that_shares_some_runs_has_an_average(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    results = fabricate({"a": 0.9, "b": 0.6, "c": 0.5}, seeds=(4, 1))
    frame = results.scores
    shared = (frame["arm"] == "c") & (frame["task"] == "sst2")
    keys = frame["key"].mask(shared, frame["key"].str.replace("c-", "a-"))
    found = signals(results.but(scores=frame.assign(key=keys)))
    assert (found["sst2"].num_arms, found["average"].num_arms) == (2, 3)


def test_arms_alike(fabricate: Callable[..., MadeUpResults]) -> None:
    found = signals(fabricate({"a": 0.7, "b": 0.7, "c": 0.7}, seeds=(5, 2)))["average"]
    assert found.p > 0.01 and found.signal == pytest.approx(found.without, rel=2)


@pytest.mark.parametrize(
    ("depend", "note"),
    [
        (lambda first, second: True, PAIRED_NOTE),
        (lambda first, second: {first, second} <= {"a", "b"}, PARTLY_PAIRED_NOTE),
        (lambda first, second: first == second, None),
    ],
)
def test_arms_that_depend_on_each_other(
    fabricate: Callable[..., MadeUpResults],
    monkeypatch: pytest.MonkeyPatch,
    depend: Callable[[str, str], bool],
    note: str | None,
) -> None:
    results = fabricate({"a": 0.7, "b": 0.7, "c": 0.7}, seeds=(5, 2))
    monkeypatch.setattr(run_spread, "dependent_runs", lambda *_: depend)
    section = spread_section(results)
    assert section and section.notes == [NOTE, *([note] if note else [])]
    frame = results.scores
    own = {"task": "sst2", "metric": "accuracy"}
    for name, value in own.items():
        frame = frame[frame[name] == value]
    seeds = 100 * frame.groupby(["arm", "pretrain_seed"])["value"].mean().unstack()
    expected = signal_and_noise([*seeds.to_numpy()], paired=note is PAIRED_NOTE)
    assert expected and signals(results)["sst2"].p == pytest.approx(expected.p)
