"""The time left against simulated runs: unknown at first, then close; equal stages by hand."""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.execution import run_times
from harness.execution.estimate import estimate
from harness.execution.priority import scouts
from harness.execution.provenance import machine
from harness.execution.run_times import FILE, RunTimes, learned_run_times, remember_run_times
from harness.execution.time_left import (
    PLANNED_FLOPS,
    STAGE_SECONDS,
    Durations,
    Running,
    learned_durations,
    seconds_left,
    used_gpu,
)
from harness.plan.factory import load_plan
from harness.plan.plan import Plan, Stage
from harness.store.store import StageResult
from tests.paths import ROOT


def stage(kind: str, flops: float, key: str = "a") -> Stage:
    return Stage(key=key, kind=kind, label=key, spec={}, parents={}, flops=flops)


def in_this_run(**fields: Any) -> Durations:
    """Nothing known yet, of workers that start and record in no time."""
    return Durations(startups=[0.0], gaps=[0.0], **fields)


def test_equal_stages_take_the_median_and_others_are_scaled_by_flops() -> None:
    known = Durations()
    known.add("trial", 10.0, 4.0)
    known.add("trial", 10.0, 6.0)
    assert known.of(stage("trial", 10.0)) == 5.0
    assert known.of(stage("trial", 30.0)) == pytest.approx(30 * (4 + 6) / (10 + 10))
    assert known.of(stage("pretrain", 10.0)) is None
    assert known.of(stage("tune", 0.0)) == 0.0


def test_stages_at_toy_size_do_not_slow_down_all_others() -> None:
    """A second of fixed work for 1e8 FLOPs is no rate for 1e12: 20 s with the quickstart's."""
    known = Durations()
    known.add("pretrain", 1e8, 1.0)
    assert known.of(stage("pretrain", 1e9)) == pytest.approx(10)
    assert known.of(stage("pretrain", 1e12)) == pytest.approx(10 + (1e12 - 1e9) / 1e10)
    known.add("pretrain", 1e12, 25.0)
    assert known.of(stage("pretrain", 1e13)) == pytest.approx(250, rel=0.05)
    fast = Durations()
    fast.add("pretrain", 1e12, 1.0)  # on a GPU
    assert fast.of(stage("pretrain", 1e14)) == pytest.approx(100)


def test_by_hand() -> None:
    known, end = in_this_run(), RunTimes().closing
    waiting = [stage("trial", 10.0, key) for key in "bcde"]
    running = Running(stage("pretrain", 100.0), elapsed=30.0, share=0.25)
    assert seconds_left(known, [running], [], 2) == 90 + end  # the others have nothing to do
    assert seconds_left(known, [running], waiting, 2) is None
    known.add("trial", 10.0, 50.0)
    assert seconds_left(known, [running], waiting, 2) == 3 * 50 + end  # the fourth from 90 to 140
    resumed = Running(stage("pretrain", 100.0), elapsed=10.0, share=0.75, first_share=0.5)
    assert seconds_left(known, [resumed], [], 2) == 10 + end  # the other half of this half
    early = Running(stage("pretrain", 100.0), elapsed=1.0, share=0.01)
    assert seconds_left(known, [early], waiting, 2) is None
    assert seconds_left(known, [], [], 2) == 0.0


def test_a_plan_of_instant_runs_says_nothing_of_long_ones() -> None:
    known = Durations()
    known.add("pretrain", 0.0, 0.1)
    assert known.of(stage("pretrain", 5.0)) is None
    assert not known.knows("pretrain")


@pytest.fixture(scope="module", params=["quickstart.yaml", "smoke.yaml"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return load_plan(ROOT / "experiments" / request.param)


SECONDS = {"tokenizer": 4.0, "tokenize": 10.0, "tune": 0.1}


def simulated(plan: Plan, capacity: int, seed: int) -> Iterator[tuple[float, float | None]]:
    """(seconds since the start, seconds left as estimated) after each end of a stage. Pretraining
    and fine-tuning have rates of their own and durations that vary by a tenth; kinds that never ran
    go first."""
    rng = np.random.default_rng(seed)
    rate = {kind: 10 ** rng.uniform(9, 11) for kind in ("pretrain", "finetune")}
    rate["trial"] = 1.2 * rate["finetune"]
    noise = dict(zip(plan.stages, rng.normal(1, 0.1, len(plan.stages)), strict=True))
    known, now = in_this_run(), 0.0
    waiting, ended, active = dict(plan.stages), set[str](), list[tuple[float, str, float]]()
    while waiting or active:
        ready = [s for s in waiting.values() if ended.issuperset(s.parents.values())]
        seen = {plan.stages[key].kind for _, key, _ in active}
        kinds = {s.kind for s in waiting.values() if s.flops and not known.knows(s.kind)} - seen
        first = scouts(plan.stages, set(plan.stages) - ended, kinds)
        ready.sort(key=lambda s: (s.key not in first, s.flops if s.key in first else -s.flops))
        for one in ready[: capacity - len(active)]:
            del waiting[one.key]
            seconds = one.flops / rate[one.kind] if one.flops else SECONDS.get(one.kind, 0.1)
            heapq.heappush(active, (now + seconds * noise[one.key], one.key, now))
        now, key, start = heapq.heappop(active)
        known.add(plan.stages[key].kind, plan.stages[key].flops, now - start)
        ended.add(key)
        running = [
            Running(plan.stages[k], now - began, (now - began) / max(1e-9, end - began))
            for end, k, began in active
        ]
        yield now, seconds_left(known, running, list(waiting.values()), capacity)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("capacity", [1, 2])
def test_estimates_are_within_a_third_once_they_are_known(
    plan: Plan, capacity: int, seed: int
) -> None:
    found = list(simulated(plan, capacity, seed))
    whole = found[-1][0]
    known = [(now, now + left) for now, left in found if left is not None and now > whole / 10]
    assert all(total == pytest.approx(whole, rel=0.3) for _, total in known)
    assert len(known) >= len(found) / 2
    assert found[0][1] is None


def test_stages_unlike_all_others_have_a_fixed_part_and_a_rate() -> None:
    known = Durations()
    for flops in (10.0, 20.0, 40.0):
        known.add("finetune", flops, 3 + flops / 5)
    assert known.of(stage("finetune", 30.0)) == pytest.approx(3 + 30 / 5)
    known = Durations()
    known.add("finetune", 10.0, 1.0)
    known.add("finetune", 20.0, 4.0)  # a line would begin below zero
    assert known.of(stage("finetune", 30.0)) == pytest.approx(30 * 5 / 30)
    known = Durations()
    known.add("finetune", 10.0, 2.0)
    known.add("finetune", 11.0, 2.01)  # too near for a slope
    assert known.of(stage("finetune", 42.0)) == pytest.approx(42 * 4.01 / 21)


def test_the_last_of_equal_stages_count() -> None:
    known = Durations()
    for seconds in (100.0, 1.0, 2.0, 3.0, 4.0, 5.0):
        known.add("trial", 10.0, seconds)
    assert known.of(stage("trial", 10.0)) == 3.0


def test_kinds_that_do_the_same_work_know_of_each_other() -> None:
    known = Durations()
    known.add("trial", 10.0, 4.0)
    assert known.of(stage("finetune", 10.0)) == 4.0
    assert known.of(stage("tune", 20.0)) == 8.0
    known.add("finetune", 10.0, 6.0)
    assert known.of(stage("train_tasks", 10.0)) == 6.0  # of `finetune`, before those of `trial`
    assert known.of(stage("pretrain", 10.0)) is None


def test_earlier_runs_serve_where_this_one_knows_nothing() -> None:
    earlier = Durations()
    earlier.add("pretrain", 10.0, 100.0)
    earlier.add("finetune", 10.0, 5.0)
    known = Durations(earlier=earlier)
    known.add("finetune", 10.0, 7.0)
    assert known.of(stage("pretrain", 20.0)) == pytest.approx(200.0 * known.pace)
    assert known.of(stage("finetune", 10.0)) == 7.0
    assert known.of(stage("probe", 1.0)) is None


def test_a_chain_of_stages_takes_as_long_as_all_of_them() -> None:
    known, end = in_this_run(), RunTimes().closing
    known.add("pretrain", 10.0, 100.0)
    known.add("finetune", 10.0, 10.0)
    first = stage("pretrain", 10.0, "first")
    child = Stage("finetune", "child", "child", {}, {"pretrain": "first"}, 10.0)
    other = stage("finetune", 10.0, "other")
    assert seconds_left(known, [], [first, child, other], 2) == 110 + end  # more than 120 / 2
    running = Running(first, elapsed=25.0, share=0.25)
    assert seconds_left(known, [running], [child, other], 2) == 75 + 10 + end


def test_workers_start_and_record() -> None:
    known, end = Durations(startups=[8.0], gaps=[0.5]), RunTimes().closing
    known.add("trial", 10.0, 4.0)
    waiting = [stage("trial", 10.0, key) for key in "bc"]
    assert seconds_left(known, [], waiting, 2) == 8 + 4.5 + end
    assert seconds_left(known, [], waiting, 2, workers=1) == 2 * 4.5 + end
    starting = Running(stage("trial", 10.0), elapsed=3.0, in_new_worker=True)
    assert seconds_left(known, [starting], [], 2) == 5 + 4.5 + end
    late = Running(stage("trial", 10.0), elapsed=30.0, in_new_worker=True)
    assert seconds_left(known, [late], [], 2) == 4.5 + end  # it has not begun


def test_what_a_run_takes_beside_its_stages_is_remembered(tmp_path: Path) -> None:
    assert learned_run_times(tmp_path, "processes") == RunTimes()
    known = Durations(startups=[3.0, 5.0], gaps=[0.1, 0.2, 9.0], closings=[0.5])
    remember_run_times(tmp_path, "processes", known.times)
    remember_run_times(tmp_path, "ray", RunTimes(startup=20.0))
    found = learned_run_times(tmp_path, "processes")
    assert found == RunTimes(startup=4.0, overhead=0.2, closing=0.5)
    assert learned_run_times(tmp_path, "ray").startup == 20.0
    assert learned_durations([], found).times == found
    assert Durations(before=found, gaps=[1.0]).times == found.model_copy(update={"overhead": 1.0})


def test_a_full_disk_loses_only_the_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_times, "write_atomically", fail)
    remember_run_times(tmp_path, "ray", RunTimes(startup=3.0))
    assert learned_run_times(tmp_path, "ray") == RunTimes()


@pytest.mark.parametrize("content", ["", "[]", '{"MACHINE": 3}', '{"MACHINE": {"ray": {"a": 1}}}'])
def test_damaged_times_are_measured_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content.replace("MACHINE", machine()))
    assert learned_run_times(tmp_path, "ray") == RunTimes()
    remember_run_times(tmp_path, "ray", RunTimes(startup=3.0))
    assert learned_run_times(tmp_path, "ray").startup == 3.0


def test_earlier_durations_are_scaled_to_the_pace_of_this_run() -> None:
    earlier = Durations()
    earlier.add("trial", 10.0, 10.0)
    earlier.add("finetune", 10.0, 4.0)
    known = Durations(earlier=earlier)
    assert known.of(stage("finetune", 10.0)) == 4.0
    for _ in range(9):
        known.add("trial", 10.0, 30.0)  # a busy machine
    assert known.pace == pytest.approx((10 + 270) / (10 + 90))
    assert known.of(stage("finetune", 10.0)) == pytest.approx(4 * 2.8)


def test_more_text_or_larger_networks_than_before_are_no_slower_pace() -> None:
    earlier = Durations()
    for kind, flops, seconds in (("tokenize", 0.0, 1.0), ("pretrain", 1e9, 5.0)):
        earlier.add(kind, flops, seconds)
    known = Durations(earlier=earlier)
    known.add("tokenize", 0.0, 600.0)
    known.add("pretrain", 1e12, 50.0)
    assert known.pace == 1.0


def test_the_cheapest_way_to_each_unknown_kind_goes_first() -> None:
    stages = {
        "big": stage("pretrain", 100.0, "big"),
        "none": stage("pretrain", 0.0, "none"),
        "a": Stage("finetune", "a", "a", {}, {"pretrain": "big"}, 5.0),
        "b": Stage("finetune", "b", "b", {}, {"pretrain": "none"}, 5.0),
        "c": Stage("probe", "c", "c", {}, {"pretrain": "none"}, 1.0),
    }
    assert scouts(stages, set(stages), {"pretrain", "finetune"}) == {"big", "none", "b"}
    assert scouts(stages, set(stages) - {"none"}, {"finetune"}) == {"b"}
    stages["d"] = Stage("finetune", "d", "d", {}, {"pretrain": "none"}, 9.0)  # of equals
    assert scouts(stages, set(stages), {"finetune"}) == {"none", "d"}


def stored(kind: str, flops: float, seconds: float, made_with: str) -> StageResult:
    metrics = {STAGE_SECONDS: seconds, PLANNED_FLOPS: flops}
    return StageResult(f"{kind}{seconds}", kind, "", metrics, "", "", made_with)


def test_durations_are_learned_from_this_machine_and_its_last_device() -> None:
    cpu, gpu = f"{machine()}, python 3", f"{machine()}, Some GPU, python 3"
    elsewhere = "Plan9 mips, 3 CPU cores, python 3"
    old = StageResult("old", "finetune", "", {"seconds": 1.0}, "", "", cpu)  # of earlier versions
    known = learned_durations(
        [
            stored("pretrain", 10.0, 50.0, cpu),
            stored("pretrain", 10.0, 5.0, gpu),
            stored("finetune", 10.0, 3.0, cpu),
            stored("finetune", 10.0, 900.0, elsewhere),
            old,
        ]
    )
    assert known.of(stage("pretrain", 10.0)) == 5.0
    assert known.of(stage("finetune", 10.0)) == 3.0
    assert sum(map(len, known.ended.values())) == 2
    assert used_gpu([stored("pretrain", 1.0, 1.0, gpu)])
    assert not used_gpu([stored("pretrain", 1.0, 1.0, cpu), stored("tune", 1.0, 1.0, elsewhere)])


def test_an_estimate_says_what_it_was_learned_from() -> None:
    plan = load_plan(ROOT / "experiments" / "smoke.yaml")
    stages = list(plan.stages.values())
    nothing = estimate(stages, Durations(), jobs=2)
    assert not nothing.is_known
    assert (nothing.num_stages, nothing.num_learned) == (len(plan.stages), 0)
    assert "to an order of magnitude (rates of the shipped quickstart" in nothing.line
    done, pretraining = Durations(), Durations()
    for one in stages[:-12]:
        done.add(one.kind, one.flops, 10.0)
    found = estimate(plan.to_compute([one.key for one in stages[:-12]]), done, jobs=2)
    before = RunTimes()
    by_hand = before.startup + 12 * (10.0 + before.overhead) / 2 + before.closing
    assert found.is_known and found.seconds == pytest.approx(by_hand)
    assert found.line.endswith(f"2 at a time (learned from {len(stages) - 12} finished stages)")
    assert estimate([], done, jobs=2).line == ""
    pretraining.add("pretrain", 10.0, 10.0)
    line = "; tokenizer, tokenize, trial, finetune to an order of magnitude"
    assert line in estimate(stages, pretraining, 2).line


def test_an_empty_store_has_the_order_of_magnitude_of_the_shipped_quickstart() -> None:
    plan = load_plan(ROOT / "experiments" / "quickstart.yaml")
    rows = (ROOT / "reports" / "quickstart" / "stages.csv").read_text().splitlines()[1:]
    taken = sum(float(row.rpartition(",")[2] or 0) for row in rows)
    expected = estimate(list(plan.stages.values()), Durations(), jobs=1)
    assert taken / 2 < expected.seconds < 2 * taken
