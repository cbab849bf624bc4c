"""The signal and noise of the columns of a report."""

from collections.abc import Callable

import pytest

from harness.analysis.statistics.signal import signal_and_noise
from harness.leaderboard.signals import (
    NOTE,
    PAIRED_NOTE,
    PARTLY_PAIRED_NOTE,
    TITLE,
    signal_table,
)
from harness.report.sections import run_spread
from harness.report.sections.run_spread import signals, spread_section
from tests.made_up_results import MadeUpResults


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
