"""The state of stages, made up in a store and in work folders."""

import json
from pathlib import Path

import pytest

from harness.core.compute import Compute
from harness.execution.execution_result import Execution, StagesFailedError
from harness.execution.job import StageJob, Workspace
from harness.execution.stages import STAGES
from harness.execution.stages.context import Metrics, StageContext
from harness.execution.status import disk_bytes, stage_states
from harness.execution.worker import run_stage
from harness.plan.factory import load_plan
from harness.plan.plan import Plan, Stage
from harness.store.store import Store
from tests.paths import ROOT


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan(ROOT / "experiments" / "smoke.yaml")


def first(plan: Plan, kind: str, label: str) -> Stage:
    return next(s for s in plan.stages.values() if s.kind == kind and s.label.startswith(label))


def test_every_state_with_its_detail(plan: Plan, tmp_path: Path) -> None:
    store, workspace = Store(tmp_path / "runs"), Workspace(tmp_path / "runs")
    done, broken = first(plan, "tokenizer", ""), first(plan, "pretrain", "static")
    stopped, active = first(plan, "pretrain", "dynamic"), first(plan, "pretrain", "scratch")
    out = tmp_path / "out"
    out.mkdir()
    (out / "vocab").write_text("12345")
    store.record(done.key, done.kind, done.label, {}, {"seconds": 1.0, "stage_seconds": 2.0}, out)
    for stage in (broken, stopped, active):
        workspace.folder(stage.key).mkdir(parents=True)
    (workspace.folder(broken.key) / "error.txt").write_text("Traceback\nMemoryError: no memory\n")
    for stage in (stopped, active):
        progress = workspace.folder(stage.key) / "progress.json"
        progress.write_text(json.dumps({"done": 1, "total": 4}))
    (workspace.folder(active.key) / "error.txt").write_text("ValueError: of an earlier run")
    with workspace.lease(active.key):
        found = stage_states(plan, store, store.finished(plan.stages)).set_index("key")
    assert found.index.tolist() == list(plan.stages)
    state = found[["state", "detail"]].apply(tuple, axis=1)
    assert state[done.key] == ("done", "") and found.loc[done.key, "seconds"] == 2.0
    assert state[broken.key] == ("failed", "MemoryError: no memory")
    assert state[stopped.key] == ("interrupted", " 25%")
    assert state[active.key] == ("running", " 25%")
    child = next(s for s in plan.stages.values() if broken.key in s.parents.values())
    assert state[child.key] == ("blocked", f"needs pretrain {broken.label}")
    later = next(s for s in plan.stages.values() if child.key in s.parents.values())
    assert found.loc[later.key, "state"] == "blocked"
    assert found.loc[first(plan, "tokenize", "").key, "state"] == "waiting"
    bytes_done, bytes_work = disk_bytes(plan, store, store.finished(plan.stages))
    assert bytes_done == 5 and bytes_work > 30


def test_a_computed_stage_is_done_once_it_is_recorded(plan: Plan, tmp_path: Path) -> None:
    """Also if it is recorded after the finished stages were read; its progress remains."""
    store, workspace = Store(tmp_path / "runs"), Workspace(tmp_path / "runs")
    stage = first(plan, "tokenizer", "")
    read_before = store.finished(plan.stages)
    workspace.output(stage.key).mkdir(parents=True)
    (workspace.folder(stage.key) / "progress.json").write_text('{"done": 4, "total": 4}')
    workspace.result(stage.key).write_text("{}")

    def state() -> tuple[str, str]:
        found = stage_states(plan, store, read_before).set_index("key").loc[stage.key]
        return str(found["state"]), str(found["detail"])

    assert state() == ("interrupted", "computed, not recorded yet")
    store.record(stage.key, stage.kind, stage.label, {}, {}, workspace.output(stage.key))
    assert state() == ("done", "")
    workspace.clean(stage.key)
    assert state() == ("done", "")
    recorded = store.find(stage.key)
    assert recorded
    store.remove(recorded)
    assert state() == ("waiting", "")


def test_failed_stages_are_named_with_their_reasons(plan: Plan) -> None:
    stage = first(plan, "pretrain", "static")
    Execution().raise_failures(plan)
    with pytest.raises(StagesFailedError) as caught:
        Execution(failed={stage.key: "MemoryError: no memory"}).raise_failures(plan)
    assert str(caught.value).splitlines() == [
        f"1 of {len(plan.stages)} stages failed:",
        f"  pretrain {stage.label}: MemoryError: no memory",
    ]


@pytest.mark.parametrize("content", [b"", b"{", b'{"done": "\xff"}', b"[1]"])
def test_damaged_reports_of_a_stage_are_none(tmp_path: Path, content: bytes) -> None:
    workspace = Workspace(tmp_path)
    workspace.folder("k").mkdir(parents=True)
    for name in ("progress.json", "error.txt"):
        (workspace.folder("k") / name).write_bytes(content)
    assert workspace.progress("k") == {}
    assert workspace.error("k") == content.decode(errors="replace")


def test_the_reason_of_a_failed_stage_has_all_lines_of_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of CUDA, which end with advice."""

    def fail(context: StageContext) -> Metrics:
        raise RuntimeError("CUDA error: device-side assert\nCompile with `TORCH_USE_CUDA_DSA`.\n")

    monkeypatch.setitem(STAGES, "tokenizer", fail)
    workspace = Workspace(tmp_path)
    with pytest.raises(RuntimeError):
        run_stage(StageJob("tokenizer", "k", {}, {}, Compute()), workspace)
    text = "RuntimeError: CUDA error: device-side assert Compile with `TORCH_USE_CUDA_DSA`."
    assert workspace.error("k") == text
