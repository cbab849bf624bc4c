"""Ray: what a stage takes of a node, lost workers and nodes, messages."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster
from ray.exceptions import OutOfMemoryError, RayTaskError, WorkerCrashedError
from typer.testing import CliRunner

from benchmarks.crash_recovery import started_again
from harness.cli.app import app
from harness.core.compute import Compute, StageResources
from harness.execution.backends.backend import Outcome
from harness.execution.backends.ray_tasks import (
    RayBackend,
    Share,
    _sigterm_handler_kept,
    share_of,
)
from harness.execution.job import StageJob, Workspace
from tests.execution.backends.tokenizer_spec import TOKENIZER_SPEC
from tests.paths import ROOT

DYING = "import os\nCORPORA = {}\nos._exit(1)\n"
"""A plug-in that ends the process that imports it."""
FAILING = "CORPORA = {}\nraise ValueError('a plug-in')\n"
SMALLER = ("sweep.trials=0", "seeds.pretrain=1", "seeds.finetune=1", "evaluate.tasks=[micro-sst2]")
"""Changes of `smoke` that leave one stage per arm of pretraining and of fine-tuning."""


def job(key: str, *plugins: str, **spec: object) -> StageJob:
    return StageJob("tokenizer", key, spec, {}, Compute(accelerator="cpu"), plugins=plugins)


def first(backend: RayBackend) -> Outcome:
    outcomes: Sequence[Outcome] = ()
    while not outcomes:
        outcomes = backend.wait(1)
    (outcome,) = outcomes
    return outcome


@pytest.fixture
def backend(local_ray: None, tmp_path: Path) -> RayBackend:
    return RayBackend(Workspace(tmp_path))


def test_errors_of_stages_arrive_as_what_they_are(
    backend: RayBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "failing_plugin.py").write_text(FAILING)
    backend.submit(job("failing", "failing_plugin"))
    outcome = first(backend)
    assert type(outcome.error) is ValueError and not outcome.lost
    assert str(outcome.error).startswith("the plug-in 'failing_plugin' cannot be imported: ")


def test_a_stage_lost_to_memory_gets_a_larger_share(
    backend: RayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Task:
        """A task that keeps what it is asked for."""

        def options(self, memory: int, **others: object) -> "Task":
            asked.append(memory)
            return self

        def remote(self, *arguments: object) -> str:
            return "task"

    def fail(_: object) -> None:
        raise OutOfMemoryError("full")

    backend._shares = {"tokenizer": Share(1, 1, memory=100, memory_again=200)}
    backend._task = Task()
    backend.submit(job("large"))
    with monkeypatch.context() as patch:
        patch.setattr(ray, "get", fail)
        assert backend._outcome("task").lost
    backend.submit(job("large"))
    assert asked == [100, 200]
    backend._running.clear()


def test_the_capacity_is_that_of_the_living_nodes(
    backend: RayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert backend.capacity == 2
    assert RayBackend(backend.workspace, 1).capacity == 1
    nodes = [{"Alive": alive, "Resources": {"CPU": 5.0}} for alive in (True, True, False)]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    assert backend.capacity == 10
    backend._shares = {"pretrain": Share(threads=2, cpus=2)}
    assert backend.capacity == 4
    backend._shares["finetune"] = Share(threads=1, cpus=1)
    assert backend.capacity == 10
    nodes.clear()
    assert backend.capacity == 1


def test_the_share_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    small, large = {"CPU": 2.0, "memory": 100.0}, {"CPU": 8.0, "memory": 1_600.0}
    with_gpus = {"CPU": 8.0, "GPU": 2.0, "memory": 800.0}
    share = partial(share_of, kind="pretrain")
    assert share(Compute(), [small, large]) == Share(1, 1, 0, 50, 100)
    assert share(Compute(threads=4), [small, large]) == Share(4, 4, 0, 800, 1_600)
    assert share(Compute(), [small, with_gpus]) == Share(4, 4, 1, 400, 800)
    assert share(Compute(accelerator="cpu"), [with_gpus]) == Share(1, 1, 0, 100, 200)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert share(Compute(), [small]).threads == 2
    with pytest.raises(ValueError, match="takes, 9 CPUs, but none does"):
        share(Compute(threads=9), [small, large])
    with pytest.raises(ValueError, match="and 1 GPU, but none does"):
        share(Compute(accelerator="gpu"), [small, large])


def test_the_share_of_a_stage_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    node = {"CPU": 40.0, "GPU": 2.0, "memory": 64 * 2.0**30, "disk": 3.0}
    declared = {"gpus": 0.1, "kinds": {"pretrain": {"gpus": 1, "cpus": 8, "memory_gb": 16}}}
    compute = Compute(threads=4, resources=StageResources.read(declared))
    large = share_of(compute, [node], "pretrain")
    assert large == Share(4, 8, 1, 16 * 2**30, 32 * 2**30)
    assert large.slots(node) == 2
    small = share_of(Compute(resources=compute.resources), [node], "finetune")
    assert (small.threads, small.cpus, small.gpus) == (2, 2, 0.1)
    assert small.slots(node) == 20
    on_disk = Compute(resources=StageResources(cpus=1, gpus=0, custom={"disk": 1.5}))
    assert share_of(on_disk, [node], "finetune").slots(node) == 2
    too_much = StageResources(gpus=0, memory_gb=65, custom={"tpu": 2})
    with pytest.raises(ValueError, match="takes, 1 CPUs, 65 GB, 2 tpu, but none does"):
        share_of(Compute(threads=1, resources=too_much), [node], "finetune")


def test_pretraining_takes_all_its_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    nodes = [{"CPU": 32.0, "GPU": 8.0}]
    four = Compute(devices=4)
    pretraining = share_of(four, nodes, "pretrain")
    assert (pretraining.gpus, pretraining.cpus, pretraining.threads) == (4, 16, 4)
    finetuning = share_of(four, nodes, "finetune")
    assert (finetuning.gpus, finetuning.cpus, finetuning.threads) == (1, 4, 4)
    on_cpus = share_of(Compute(devices=4, accelerator="cpu", threads=2), nodes, "pretrain")
    assert (on_cpus.gpus, on_cpus.cpus, on_cpus.threads) == (0, 8, 2)


def test_a_stage_that_lost_a_process_is_lost(
    backend: RayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RayTaskError("stage", "", BrokenProcessPool("process 1 of 2 of the stage died"))

    backend._running["task"] = "key"
    monkeypatch.setattr(ray, "get", fail)
    assert backend._outcome("task").lost


def test_ray_is_asked_for_what_is_declared(backend: RayBackend) -> None:
    resources = StageResources(memory_gb=0.5, cpus=2)
    compute = Compute(accelerator="cpu", threads=1, resources=resources)
    backend.submit(StageJob("tokenizer", "bad", {}, {}, compute))
    assert backend._shares["tokenizer"].cpus == 2 and backend.capacity == 1
    assert isinstance(first(backend).error, KeyError)


def test_a_node_without_the_folder_of_the_store(backend: RayBackend, tmp_path: Path) -> None:
    backend.workspace = Workspace(tmp_path / "elsewhere")
    backend.submit(job("good", **TOKENIZER_SPEC))
    error = first(backend).error
    assert type(error) is ValueError
    assert f"{tmp_path / 'elsewhere'}, the folder of the store, must be shared" in str(error)


def test_a_dead_worker_is_lost_and_ray_does_not_retry(
    backend: RayBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plug-in is found in the import path of this process."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "dying_plugin.py").write_text(DYING)
    backend.submit(job("dying", "dying_plugin"))
    outcome = first(backend)
    assert outcome.lost and outcome.key == "dying" and outcome.output is None
    assert isinstance(outcome.error, WorkerCrashedError)
    journal = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in journal] == ["start"]


def test_ray_leaves_the_handler_of_sigterm_to_the_caller() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with _sigterm_handler_kept():
        signal.signal(signal.SIGTERM, lambda *_: None)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_address_without_a_cluster_is_one_line(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ValueError, match=f"{address}' must be running and reachable, but: .+"):
        RayBackend(Workspace(tmp_path), 1, address).submit(job("good"))


def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> tuple[int, str]:
        command = ["run", "smoke", "--store", str(tmp_path), *words]
        result = CliRunner().invoke(app, command)
        return result.exit_code, result.output.splitlines()[-1]

    code, line = run("--executor", "serial", "--address", "auto")
    assert code == 2 and "belongs to the executor ray, but the executor is serial" in line
    monkeypatch.setitem(sys.modules, "ray", None)
    code, line = run("--executor", "ray")
    assert code == 2 and "needs a package: pip install 'pretraining-harness[ray]'" in line


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The leaderboard of `smoke` as local processes compute it."""
    store = tmp_path_factory.mktemp("processes")
    return finished(SmokeRun(store, "--executor", "processes"))


class SmokeRun(subprocess.Popen[str]):
    """`harness run smoke` in a process of its own, which prints a line as each stage ends."""

    def __init__(self, store: Path, *options: str) -> None:
        command = [sys.executable, "-m", "harness", "run", "smoke", "--store", str(store)]
        changes = [word for change in SMALLER for word in ("--set", change)]
        super().__init__(
            [*command, *changes, *options],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.store, self.output = store, ""

    def read(self, stages: int | None = None) -> None:
        """Reads the output until a number of stages is done; null: to its end."""
        assert self.stdout
        for line in self.stdout:
            self.output += line
            if stages is not None and self.output.count("  done ") >= stages:
                return


def finished(run: SmokeRun) -> bytes:
    """The leaderboard after the end of a run; no stage was started after it had finished."""
    with run:
        run.read()
    assert run.returncode == 0, run.output
    assert started_again(run.store) == []
    return (run.store / "reports" / "smoke" / "leaderboard.csv").read_bytes()


@pytest.mark.campaign
def test_two_nodes_compute_what_processes_compute(
    cluster: Cluster, expected: bytes, tmp_path: Path
) -> None:
    run = SmokeRun(tmp_path, "--executor", "ray", "--address", cluster.address)
    assert finished(run) == expected


@pytest.mark.campaign
def test_a_node_is_lost_in_the_middle(cluster: Cluster, expected: bytes, tmp_path: Path) -> None:
    run = SmokeRun(tmp_path, "--executor", "ray", "--address", cluster.address)
    run.read(stages=3)
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    assert finished(run) == expected


@pytest.mark.campaign
def test_the_driver_is_killed_in_the_middle(
    cluster: Cluster, expected: bytes, tmp_path: Path
) -> None:
    options = ("--executor", "ray", "--address", cluster.address)
    with SmokeRun(tmp_path, *options) as run:
        run.read(stages=3)
        run.kill()
    assert finished(SmokeRun(tmp_path, *options)) == expected


@pytest.mark.campaign
def test_a_local_ray_is_killed_with_its_driver(expected: bytes, tmp_path: Path) -> None:
    with SmokeRun(tmp_path, "--executor", "ray") as run:
        run.read(stages=3)
        run.kill()
    assert finished(SmokeRun(tmp_path, "--executor", "ray")) == expected
