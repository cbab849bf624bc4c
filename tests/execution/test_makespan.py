"""Schedules of stages by hand, and Graham's bounds on random ones."""

import numpy as np
import pytest

from harness.execution.makespan import ideal_makespan, makespan
from harness.plan.plan import Stage


def stage(key: str, flops: float, *parents: str) -> Stage:
    return Stage("finetune", key, key, {}, {parent: parent for parent in parents}, flops)


def test_the_most_expensive_ready_stage_goes_first() -> None:
    stages = [stage("a", 3), stage("b", 2), stage("c", 2), stage("d", 4, "c")]
    seconds = {one.key: one.flops for one in stages}
    assert makespan([], stages, seconds, [0.0, 0.0]) == 8  # d from 4, when c ends
    assert ideal_makespan(stages, seconds, 2) == {"work": 5.5, "critical_path": 6}
    assert makespan([], [], {}, [0.0]) == 0


def test_a_wide_stage_waits_for_its_workers() -> None:
    stages = [stage("wide", 9, "a"), stage("a", 4), stage("b", 3), stage("c", 2)]
    seconds = {"wide": 5.0, "a": 1.0, "b": 2.0, "c": 2.0}
    widths = {"wide": 2}
    assert makespan([], stages, seconds, [0.0, 0.0], widths) == 2 + 5 + 2  # c after it
    assert makespan([], stages, seconds, [0.0, 0.0]) == 1 + 5
    ordered = [stages[1], *stages[2:], stages[0]]
    assert ideal_makespan(ordered, seconds, 2, widths) == {"work": 7.5, "critical_path": 6}


@pytest.mark.parametrize("seed", range(5))
def test_random_schedules_keep_the_bounds(seed: int) -> None:
    """List scheduling takes at most work/m + (1 - 1/m) of the longest chain (Graham 1969)."""
    rng = np.random.default_rng(seed)
    stages: list[Stage] = []
    for number in range(60):
        count = min(number, 2) if rng.random() < 0.6 else 0
        before = rng.integers(0, max(1, number), count)
        stages.append(stage(str(number), float(rng.random()), *map(str, before)))
    seconds = {one.key: float(rng.exponential()) for one in stages}
    for workers in (1, 3, 8):
        bounds = ideal_makespan(stages, seconds, workers)
        most = bounds["work"] + (1 - 1 / workers) * bounds["critical_path"]
        found = makespan([], stages, seconds, [0.0] * workers)
        assert max(bounds.values()) - 1e-9 <= found <= most + 1e-9
