"""The time left against simulated runs: unknown at first, then close; equal stages by hand."""

import heapq
from collections.abc import Iterator

import numpy as np
import pytest

from harness.execution.time_left import Durations, Running, seconds_left
from harness.plan.factory import load_plan
from harness.plan.plan import Plan, Stage
from tests.paths import ROOT


def stage(kind: str, flops: float, key: str = "a") -> Stage:
    return Stage(key=key, kind=kind, label=key, spec={}, parents={}, flops=flops)


def test_equal_stages_take_the_mean_and_others_are_scaled_by_flops() -> None:
    known = Durations()
    known.add(stage("trial", 10.0), 4.0)
    known.add(stage("trial", 10.0), 6.0)
    known.add(stage("trial", 40.0), 10.0)
    assert known.of(stage("trial", 10.0)) == 5.0
    assert known.of(stage("trial", 30.0)) == pytest.approx(30 * (4 + 6 + 10) / (10 + 10 + 40))
    assert known.of(stage("finetune", 10.0)) is None
    assert known.of(stage("tune", 0.0)) == 0.0


def test_by_hand() -> None:
    known = Durations()
    waiting = [stage("trial", 10.0, key) for key in "abcd"]
    running = Running(stage("pretrain", 100.0), elapsed=30.0, share=0.25)
    assert seconds_left(known, [running], [], 2) == 90.0  # the others have nothing to do
    assert seconds_left(known, [running], waiting, 2) is None
    known.add(waiting[0], 50.0)
    assert seconds_left(known, [running], waiting, 2) == (90 + 4 * 50) / 2
    resumed = Running(stage("pretrain", 100.0), elapsed=10.0, share=0.75, first_share=0.5)
    assert seconds_left(known, [resumed], [], 2) == 10.0  # the other half of this half
    early = Running(stage("pretrain", 100.0), elapsed=1.0, share=0.01)
    assert seconds_left(known, [early], waiting, 2) is None
    assert seconds_left(known, [], [], 2) == 0.0


def test_a_plan_of_instant_runs_says_nothing_of_long_ones() -> None:
    known = Durations()
    known.add(stage("pretrain", 0.0), 0.1)
    assert known.of(stage("pretrain", 5.0)) is None
    assert not known.knows("pretrain")


@pytest.fixture(scope="module", params=["quickstart.yaml", "smoke.yaml"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return load_plan(ROOT / "experiments" / request.param)


SECONDS = {"tokenizer": 4.0, "tokenize": 10.0, "tune": 0.1}


def simulated(plan: Plan, capacity: int, seed: int) -> Iterator[tuple[float, float | None]]:
    """(seconds since the start, seconds left as estimated) after each end of a stage. Stages of a
    kind have a rate of their own and durations that vary by a tenth; kinds that never ran go
    first."""
    rng = np.random.default_rng(seed)
    rate = {kind: 10 ** rng.uniform(9, 11) for kind in ("pretrain", "trial", "finetune")}
    noise = dict(zip(plan.stages, rng.normal(1, 0.1, len(plan.stages)), strict=True))
    known, now = Durations(), 0.0
    waiting, ended, active = dict(plan.stages), set[str](), list[tuple[float, str, float]]()
    while waiting or active:
        ready = [s for s in waiting.values() if ended.issuperset(s.parents.values())]
        seen = {plan.stages[key].kind for _, key, _ in active}
        ready.sort(key=lambda s: (s.kind in seen or known.knows(s.kind), -s.flops))
        for one in ready[: capacity - len(active)]:
            del waiting[one.key]
            seconds = one.flops / rate[one.kind] if one.flops else SECONDS.get(one.kind, 0.1)
            heapq.heappush(active, (now + seconds * noise[one.key], one.key, now))
        now, key, start = heapq.heappop(active)
        known.add(plan.stages[key], now - start)
        ended.add(key)
        running = [
            Running(plan.stages[k], now - began, (now - began) / max(1e-9, end - began))
            for end, k, began in active
        ]
        yield now, seconds_left(known, running, waiting.values(), capacity)


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
