"""Leases: held, taken over, lost; and several processes with one plan in one store."""

import os
import signal
import subprocess
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from filelock import Timeout
from rich.console import Console

from benchmarks.crash_recovery import events
from harness.core.compute import Compute
from harness.execution import lease as leases
from harness.execution.job import StageJob, Workspace
from harness.execution.lease import LeaseHeldError, LeaseLostError, held, is_leased, lease
from harness.execution.run_plan import run_plan
from harness.execution.stages import STAGES
from harness.execution.stages.context import Metrics, StageContext
from harness.execution.worker import run_stage
from harness.plan.factory import load_plan
from harness.store import finished_runs
from harness.store.entries import KEY
from harness.store.finished_runs import EXPERIMENT
from harness.store.store import Store
from tests.paths import ROOT

SHARED = """
name: shared
extends: smoke
expect: []
grid: {pretrain.objective.masking: [static, dynamic]}
seeds: {pretrain: 1, finetune: 2}
sweep: null
compute: {loggers: []}
"""
HOLD = """
import sys
from pathlib import Path
from harness.execution import lease as leases
leases.LEASE_SECONDS = float(sys.argv[2])
with leases.lease(Path(sys.argv[1])) as claim:
    print("held", flush=True)
    sys.stdin.readline()
    while claim.compromise is None and sys.argv[3:]:
        pass
    print(claim.compromise and claim.compromise.reason)
"""


def hold(path: Path, *more: str) -> "subprocess.Popen[str]":
    """A process that holds a lease until it reads a line, or with `more` until it has lost it."""
    command = [sys.executable, "-c", HOLD, str(path), str(leases.LEASE_SECONDS), *more]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_one_process_at_a_time_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "x.lease"
    assert not is_leased(path)
    with hold(path) as process:
        assert is_leased(path)
        with pytest.raises(LeaseHeldError, match="x is computed by another"), held(lease(path)):
            raise AssertionError
        process.communicate("end\n")
    assert not is_leased(path)
    with held(lease(path)):
        assert is_leased(path)
    assert not path.exists()


def test_a_dead_holder_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.lease"
    with hold(path) as process:
        process.kill()
    assert path.exists() and not is_leased(path)
    with held(lease(path)) as claim:
        assert not claim.compromise


def test_an_empty_file_of_a_killed_process_holds_nothing_for_ever(tmp_path: Path) -> None:
    """It was created, and the process killed before it wrote who holds it."""
    path = tmp_path / "stage.lease"
    path.touch()
    assert is_leased(path)
    with pytest.raises(Timeout):
        lease(path).acquire(timeout=0.1)
    with pytest.raises(Timeout):
        lease(path).acquire(blocking=False)
    long_ago = path.stat().st_mtime - leases.LEASE_SECONDS - 1
    os.utime(path, (long_ago, long_ago))
    with lease(path):
        assert path.stat().st_size
    path.touch()
    os.utime(path, (long_ago, long_ago))
    assert not is_leased(path)


@pytest.mark.parametrize("step", [5.0, 0.05])
def test_a_stopped_holder_is_replaced_and_learns_of_it(
    step: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine that was suspended; also where a process waits in many steps."""
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(leases, "STEP_SECONDS", step)
    path = tmp_path / "x.lease"
    first = lease(path)
    with hold(path, "until lost") as process:
        os.kill(process.pid, signal.SIGSTOP)
        try:
            while is_leased(path):
                pass
            first.acquire()
        finally:
            os.kill(process.pid, signal.SIGCONT)
        said, _ = process.communicate("go on\n")
        assert not first.compromise
        first.release()
        assert said == "owner-changed\n"
    assert not path.exists()


def job(key: str) -> StageJob:
    return StageJob("tokenizer", key, {}, {}, Compute(accelerator="cpu"))


def test_a_stage_that_lost_its_lease_stops_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process computes it in the same work folder, and its result remains."""
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.3)
    workspace = Workspace(tmp_path)

    def good(context: StageContext) -> Metrics:
        (context.out / "file").write_text("of the second")
        return {"seconds": 1.0}

    def slow(context: StageContext) -> Metrics:
        (context.out / "file").write_text("of the first")
        workspace.folder("k").with_suffix(".lease").unlink()  # as if it had expired
        monkeypatch.setitem(STAGES, "tokenizer", good)
        assert run_stage(job("k"), workspace)
        while True:
            context.progress(1, 2)

    monkeypatch.setitem(STAGES, "tokenizer", slow)
    with pytest.raises(LeaseLostError):
        run_stage(job("k"), workspace)
    assert (workspace.output("k") / "file").read_text() == "of the second"
    names = {path.name for path in workspace.folder("k").iterdir()}
    assert names - {"progress.json"} == {"out", "state", "result.json"}  # a report before the loss


@pytest.mark.parametrize("damaged", ["result.json", "out/file"])
def test_a_damaged_result_that_is_not_recorded_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str
) -> None:
    workspace, calls = Workspace(tmp_path), list[StageContext]()

    def stage(context: StageContext) -> Metrics:
        calls.append(context)
        (context.out / "file").write_text("1.5")
        return {"loss": 1.5}

    monkeypatch.setitem(STAGES, "tokenizer", stage)
    for _ in range(2):
        output = run_stage(job("k"), workspace)
        assert output and output.metrics["loss"] == 1.5 and len(calls) == 1
    path = workspace.folder("k") / damaged
    path.write_text(path.read_text().replace("1.5", "2.5"))
    output = run_stage(job("k"), workspace)
    assert output and output.metrics["loss"] == 1.5 and len(calls) == 2
    assert (workspace.output("k") / "file").read_text() == "1.5"


def test_a_stage_that_another_process_computes_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for in a worker, which may compute another stage meanwhile."""
    workspace = Workspace(tmp_path)
    with hold(workspace.folder("k").with_suffix(".lease")) as process:
        with pytest.raises(LeaseHeldError):
            run_stage(job("k"), workspace)
        process.communicate("end\n")


def test_files_that_another_process_reads_are_not_deleted(tmp_path: Path) -> None:
    """It took the lease after the worker had ended and before the result was recorded: it compares
    the files with their digest, and found some missing, or computed the stage again."""
    workspace = Workspace(tmp_path)
    for folder in (workspace.output("k"), workspace.state("k"), workspace.draft("k", "1")):
        folder.mkdir(parents=True)
    workspace.result("k").write_text("{}")
    (workspace.folder("k") / ".result.json.draft").write_text("{")
    with hold(workspace.folder("k").with_suffix(".lease")) as process:
        workspace.clean("k")
        assert len(list(workspace.folder("k").iterdir())) == 5
        process.communicate("end\n")
    workspace.clean("k")
    assert [path.name for path in workspace.folder("k").iterdir()] == ["result.json"]
    with hold(workspace.folder("k").with_suffix(".lease")) as process:
        workspace.forget("k")
        assert workspace.is_cleaned("k")
        process.communicate("end\n")
    workspace.forget("k")
    assert not list((tmp_path / "work").iterdir())


def test_a_full_disk_takes_no_lease_and_is_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    workspace = Workspace(tmp_path)
    workspace.output("k").mkdir(parents=True)
    monkeypatch.setattr(leases.Lease, "acquire", full)
    workspace.clean("k")
    assert not workspace.output("k").exists()


def run_trivially(path: Path, root: Path, begun: Event, results: Connection) -> None:
    """Runs an experiment whose stages do no more than write a file; sends how many it computed."""

    def trivial(context: StageContext) -> Metrics:
        begun.set()
        for step in range(20):
            context.progress(step, 20)
        (context.out / "file").write_text("done")
        return {"seconds": 0.0}

    for kind in STAGES:
        STAGES[kind] = trivial
    done = run_plan(load_plan(path), Store(root), executor="serial", console=Console(quiet=True))
    assert not done.failed, done.failed
    results.send(len(done.computed))


def test_several_processes_share_a_plan(tmp_path: Path) -> None:
    """One is killed on the way. Every stage is finished and recorded once."""
    path, root = tmp_path / "shared.yaml", tmp_path / "runs"
    path.write_text(SHARED)
    plan, shared = load_plan(path), Store(root)
    fork = get_context("fork")
    begun, (receiver, sender) = fork.Event(), fork.Pipe(duplex=False)
    processes = [
        fork.Process(target=run_trivially, args=(path, root, begun, sender)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    assert begun.wait(60)
    processes[0].kill()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes[1:]] == [0, 0, 0]
    finished = [event["key"] for event in events(root) if event["event"] == "finish"]
    assert sorted(finished) == sorted(plan.stages)
    left = Workspace(root).state(finished[-1])  # by a kill between recording and cleaning
    left.mkdir()
    last = fork.Process(target=run_trivially, args=(path, root, begun, sender))
    last.start()
    last.join()
    assert not left.exists()
    rows = shared.tracking(EXPERIMENT).search(f"tags.`{KEY}` != ''")
    assert sorted(row.tags[KEY] for row in rows) == sorted(plan.stages)
    assert sum(receiver.recv() for _ in processes[1:]) <= len(plan.stages)
    assert not list((root / "work").glob("*.lease"))


def test_a_store_in_another_folder_uses_what_others_finish_on_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also stages that end after the plan of the second was made."""

    def trivial(context: StageContext) -> Metrics:
        (context.out / "file").write_text("done")
        return {"seconds": 0.0}

    for kind in STAGES:
        monkeypatch.setitem(STAGES, kind, trivial)
    (tmp_path / "shared.yaml").write_text(SHARED)
    plan, quiet = load_plan(tmp_path / "shared.yaml"), Console(quiet=True)
    finished_runs._make_tables(tmp_path / "server.db")
    monkeypatch.chdir(tmp_path)  # where MLflow puts files by default
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'server.db'}")
    first = run_plan(plan, Store(tmp_path / "first"), executor="serial", console=quiet)
    assert sorted(first.computed) == sorted(plan.stages)
    monkeypatch.setattr(Store, "finished", lambda self, keys=None: {})  # as it was before
    second = run_plan(plan, Store(tmp_path / "second"), executor="serial", console=quiet)
    assert second.finished == first.finished and not second.computed
    assert not events(tmp_path / "second")


def test_the_first_of_two_records_of_a_stage_remains(tmp_path: Path) -> None:
    """Although neither lock nor lease kept the second from recording."""
    runs, folder = Store(tmp_path / "runs"), tmp_path / "out"
    folder.mkdir()
    (folder / "file").write_text("same")
    first = runs.record("k", "tokens", "x", {}, {}, folder)
    second = runs.record("k", "tokens", "x", {}, {}, folder)
    assert second == first
    assert list(runs.finished()) == ["k"] and runs.find("k") == first
    rows = runs.tracking(EXPERIMENT).search(f"tags.`{KEY}` = 'k'")
    assert [row.run_id for row in rows] == [first.run_id]
