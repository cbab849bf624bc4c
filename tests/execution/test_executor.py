"""The executor on a simulated cluster: order, lost stages, time; no training."""

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from benchmarks import virtual_cluster
from benchmarks.simulated_cluster import drawn_seconds, large_plan
from benchmarks.virtual_cluster import MemoryStore, SimulatedCluster, run_virtually
from harness.execution import executor
from harness.execution.backends.backend import Outcome
from harness.execution.job import StageJob, Workspace
from harness.execution.makespan import ideal_makespan, makespan
from harness.execution.priority import ReadyQueue, scouts
from harness.plan.plan import Plan, Stage
from harness.store.store import StageResult

NODES = 4


@pytest.fixture(scope="module")
def plan() -> Plan:
    """About 200 stages."""
    return large_plan(200)


@pytest.fixture(autouse=True)
def rare_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates of the display cost real time, of which virtual time allows much."""
    monkeypatch.setattr(executor, "DISPLAY_SHARE", 1e-5)


class Watched(SimulatedCluster):
    """Keeps the stages that were ready at each submission, by a search through all stages."""

    plan: Plan
    ended: set[str]
    ready: list[list[Stage]]

    def submit(self, job: StageJob) -> None:
        begun = {*self.order, *self.ended}
        stages = self.plan.stages.items()
        ready = [one for key, one in stages if key not in begun and self.is_ready(one)]
        self.ready.append(ready)
        super().submit(job)

    def is_ready(self, stage: Stage) -> bool:
        return self.ended.issuperset(stage.parents.values())

    def wait(self, seconds: float) -> Sequence[Outcome]:
        outcomes = super().wait(seconds)
        self.ended.update(one.key for one in outcomes)
        return outcomes


def test_scouts_run_first_then_the_most_expensive(plan: Plan, tmp_path: Path) -> None:
    backend = Watched(Workspace(tmp_path), drawn_seconds(plan.stages), NODES)
    backend.plan, backend.ended, backend.ready = plan, set(), []
    done = run_virtually(plan, backend)
    assert sorted(done.computed) == sorted(backend.order) == sorted(plan.stages)
    begun = [plan.stages[key] for key in backend.order]
    kinds = {one.kind for one in begun if one.flops}
    way = scouts(plan.stages, plan.stages, kinds)
    first = {kind: next(one for one in begun if one.kind == kind).key for kind in kinds}
    assert {first["pretrain"], first["trial"]} <= way
    last = max(backend.order.index(key) for key in first.values())
    assert last < len(begun) / 2
    for chosen, ready in list(zip(begun, backend.ready, strict=True))[last + 1 :]:
        assert chosen.flops == max(one.flops for one in ready)


def test_lost_stages_run_again_and_the_cluster_is_in_use(plan: Plan, tmp_path: Path) -> None:
    seconds = drawn_seconds(plan.stages)
    backend = SimulatedCluster(Workspace(tmp_path), seconds, NODES, losses_per_hour=0.5)
    done = run_virtually(plan, backend)
    assert not done.failed and sorted(done.computed) == sorted(plan.stages)
    assert len(backend.lost) >= 2
    assert sorted(backend.order) == sorted([*plan.stages, *backend.lost])
    quiet = SimulatedCluster(Workspace(tmp_path), seconds, NODES, losses_per_hour=0.01)
    run_virtually(plan, quiet)
    assert max(ideal_makespan(plan.stages.values(), seconds, NODES).values()) >= 0.9 * quiet.now


def test_an_estimated_schedule_is_that_of_the_executor(plan: Plan, tmp_path: Path) -> None:
    """Up to the first stages of unknown kinds, which go before more expensive ones."""
    seconds = drawn_seconds(plan.stages)
    backend = SimulatedCluster(Workspace(tmp_path), seconds, NODES)
    run_virtually(plan, backend)
    expected = makespan([], [*plan.stages.values()], seconds, [0.0] * NODES)
    assert expected == pytest.approx(backend.now, rel=0.02)


class Losing(SimulatedCluster):
    """Loses one stage at given shares of its updates, one for each attempt."""

    key: str
    shares: list[float]

    def wait(self, seconds: float) -> Sequence[Outcome]:
        if self.shares and self.key in self._jobs:
            return [self.lose(self.key, self.shares.pop(0))]
        return super().wait(seconds)


@pytest.mark.parametrize(
    ("method", "reason"),
    [("record", "computed, but not recorded; run again"), ("fetch", "its inputs cannot be read")],
)
def test_a_store_that_fails_fails_the_stage_alone(
    method: str, reason: str, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a full artifact store or a server that stays away."""
    working = getattr(MemoryStore, method)
    calls = count()

    def fail_once(*arguments: object, **named: object) -> object:
        if next(calls) == 10:
            raise OSError("no space left")
        return working(*arguments, **named)

    monkeypatch.setattr(MemoryStore, method, fail_once)
    backend = SimulatedCluster(Workspace(tmp_path), drawn_seconds(plan.stages), NODES)
    done = run_virtually(plan, backend)
    ((failed, message),) = done.failed.items()
    assert message.startswith(reason) and message.endswith(": no space left")
    assert backend.workspace.error(failed) == message
    assert set(plan.stages) - set(done.computed) == descendants(plan, failed)


def descendants(plan: Plan, key: str) -> set[str]:
    """A stage with all that need it."""
    below = {key}
    for child, stage in plan.stages.items():
        if below.intersection(stage.parents.values()):
            below.add(child)
    return below


@pytest.mark.parametrize(
    ("shares", "attempts", "fails"),
    [
        ([0.0], 2, False),
        ([0.2, 0.4, 0.9], 4, False),
        ([0.0, 0.0], 2, True),
        ([0.5, 0.505], 2, True),
        ([0.5, 0.6, 0.2], 3, True),
    ],
)
def test_a_lost_stage_runs_again_as_long_as_it_comes_further(
    shares: list[float], attempts: int, fails: bool, plan: Plan, tmp_path: Path
) -> None:
    backend = Losing(Workspace(tmp_path), drawn_seconds(plan.stages), NODES)
    backend.key, backend.shares = plan.pretrain_keys[plan.arms[0].name, 1], list(shares)
    done = run_virtually(plan, backend)
    assert backend.order.count(backend.key) == attempts
    missing = descendants(plan, backend.key) if fails else set()
    assert set(done.failed) == ({backend.key} if fails else set())
    reason = backend.workspace.error(backend.key)  # which 'harness status' shows
    assert reason.endswith("; it was run again and came no further") if fails else not reason
    assert set(plan.stages) - set(done.computed) == missing


class DamagedStore(MemoryStore):
    """Finds the files of some stages damaged once, after they were found intact so many times."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.intact: dict[str, int] = {}
        (root / "work").mkdir()

    def fetch(self, record: StageResult) -> Path | None:
        left = self.intact.get(record.key)
        if left == 0:
            del self.intact[record.key]
            return None
        if left:
            self.intact[record.key] = left - 1
        return super().fetch(record)


@pytest.mark.parametrize("times", [0, 1])
def test_a_damaged_parent_of_ready_stages_is_computed_again(
    times: int, plan: Plan, tmp_path: Path
) -> None:
    """Found before the run or in it, by the first of several ready children; with the stages before
    it that are no longer in the store."""
    seconds = drawn_seconds(plan.stages)
    store = DamagedStore(tmp_path)
    run_virtually(plan, SimulatedCluster(Workspace(tmp_path), seconds, NODES), store)
    parent = plan.pretrain_keys[plan.arms[0].name, 1]
    children = {key for key, one in plan.stages.items() if parent in one.parents.values()}
    assert len(children) > 1
    before = set(plan.stages[parent].parents.values())
    for key in children | before:
        del store.results[key]
    store.intact = {parent: times}
    backend = SimulatedCluster(Workspace(tmp_path), seconds, NODES)
    done = run_virtually(plan, backend, store)
    assert not done.failed and store.results.keys() == plan.stages.keys()
    assert sorted(backend.order) == sorted({parent, *children, *before})


def test_a_damaged_result_is_computed_again(plan: Plan, tmp_path: Path) -> None:
    """Although no stage needs it."""
    seconds = drawn_seconds(plan.stages)
    store = DamagedStore(tmp_path)
    run_virtually(plan, SimulatedCluster(Workspace(tmp_path), seconds, NODES), store)
    needed = {key for stage in plan.stages.values() for key in stage.parents.values()}
    leaf = next(run.key for run in plan.finetune_runs if run.key not in needed)
    store.intact = {leaf: 0}
    backend = SimulatedCluster(Workspace(tmp_path), seconds, NODES)
    assert run_virtually(plan, backend, store).computed == [leaf] == backend.order
    again = SimulatedCluster(Workspace(tmp_path), seconds, NODES)
    assert run_virtually(plan, again, store).computed == []


def test_the_cheapest_stages_on_the_way_to_unknown_kinds_go_first() -> None:
    stages = {
        "long": Stage("pretrain", "long", "", {}, {}, 9.0),
        "longest": Stage("pretrain", "longest", "", {}, {}, 99.0),
        "short": Stage("trial", "short", "", {}, {}, 1.0),
    }
    queue = ReadyQueue(stages, stages.values(), ())
    queue.put_first({"pretrain", "trial"}, set())
    assert [queue.pop() for _ in stages] == ["short", "longest", "long"]


def test_after_a_failure_another_way_to_a_kind_goes_first() -> None:
    costs = {"a": 1.0, "b": 2.0, "c": 99.0}
    stages = {key: Stage("pretrain", key, "", {}, {}, flops) for key, flops in costs.items()}
    for key in ("a", "b"):
        name = f"trial of {key}"
        stages[name] = Stage("trial", name, "", {}, {"pretrain": key}, 1.0)
    queue, order = ReadyQueue(stages, [*stages.values()], ()), []
    for _ in costs:
        queue.put_first({"trial"}, set())
        order.append(key := queue.pop() or "")
        queue.waiting.remove(key)
        queue.fail(key)
    assert order == ["a", "b", "c"] and not queue.waiting


def test_a_stage_waits_for_a_parent_that_is_computed_again() -> None:
    """As when its files are damaged, while several of its children are ready."""
    stage = partial(Stage, "finetune", label="", spec={}, flops=1.0)
    stages = {
        "parent": Stage("pretrain", "parent", "", {}, {}, 9.0),
        "a": stage(key="a", parents={"pretrain": "parent"}),
        "b": stage(key="b", parents={"pretrain": "parent"}),
    }
    finished = {"parent"}
    queue = ReadyQueue(stages, [stages["a"], stages["b"]], finished)
    assert queue.pop() == "a"
    finished.remove("parent")
    queue.add("parent")
    queue.put_first(set(), set())
    assert queue.pop() == "parent"
    queue.waiting.remove("parent")
    assert queue.pop() == "b"  # the caller verifies the parents of what it takes
    finished.add("parent")
    queue.finish("parent")
    assert [queue.pop(), queue.pop(), queue.pop()] == ["a", "b", None]
    assert queue.waiting == {"a", "b"}


def test_a_server_that_cannot_be_asked_fails_the_stage_alone(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = next(key for key, stage in plan.stages.items() if stage.kind == "finetune")

    class Away(MemoryStore):
        """Does not answer when the stage is about to start."""

        def __init__(self, root: Path) -> None:
            super().__init__(root)
            self.is_remote = True

        def find(self, key: str) -> StageResult | None:
            if key == lost:
                raise OSError("no answer")
            return super().find(key)

    monkeypatch.setattr(virtual_cluster, "MemoryStore", Away)
    backend = SimulatedCluster(Workspace(tmp_path), drawn_seconds(plan.stages), NODES)
    done = run_virtually(plan, backend)
    assert done.failed == {lost: "the store cannot be read: no answer"}
    assert {*done.computed, lost} == set(plan.stages)
