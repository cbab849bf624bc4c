"""Every backend computes, fails and cancels alike; a new one is an entry in BACKENDS."""

import json
import os
import pickle
import re
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import torch

import harness
from harness.core.compute import Compute
from harness.core.cpus import num_cpus
from harness.execution.backends import BACKENDS, processes
from harness.execution.backends.backend import Backend, Outcome
from harness.execution.backends.processes import (
    MAX_JOBS,
    ProcessBackend,
    cpu_jobs,
    default_threads,
)
from harness.execution.backends.slurm import SlurmBackend
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.execution.run_times import RunTimes, learned_run_times
from harness.execution.worker import run_stage
from harness.execution.worker_process import WorkerProcess
from harness.study import Study
from tests.execution.backends.tokenizer_spec import TOKENIZER_SPEC

EXPERIMENT = """
name: small
question: Does any backend give the same scores?
pretrain:
  size: nano
  corpus: {source: microworld, num_tokens: 20_000}
  tokenizer: {vocab_size: 300}
  phases: [{fraction: 1, sequence_length: 32}]
  batch_size: 4
  budget: {steps: 2}
seeds: {pretrain: 1, finetune: 1}
evaluate:
  tasks: [micro-sst2]
  protocol: {max_train_examples: 16, max_holdout_examples: 16, max_sequence_length: 32}
  finetune: {epochs: 1}
compute: {accelerator: cpu, checkpoint_interval_seconds: 60}
"""


class ThreadBackend(Backend):
    """Stages in one thread of this process; keeps the jobs that it is given."""

    jobs: list[StageJob]
    capacity = 2

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        super().__init__(workspace)
        self.pool = ThreadPoolExecutor(1)
        self.running: dict[Future[StageOutput | None], str] = {}
        type(self).jobs = []

    def submit(self, job: StageJob) -> None:
        self.jobs.append(job)
        self.running[self.pool.submit(run_stage, job, self.workspace)] = job.key

    def wait(self, seconds: float) -> Sequence[Outcome]:
        ended, _ = wait(self.running, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in ended]

    def _outcome(self, future: "Future[StageOutput | None]") -> Outcome:
        key, error = self.running.pop(future), future.exception()
        return Outcome(key, error=error) if error else Outcome(key, future.result())

    def cancel(self, key: str) -> None:
        self.running = {future: other for future, other in self.running.items() if other != key}

    def close(self) -> None:
        self.running = {}
        self.pool.shutdown(cancel_futures=True)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Name of a backend; `ray` connects to the Ray of all tests, which takes seconds to start, and
    `slurm` submits to processes of this machine."""
    if request.param == "ray":
        request.getfixturevalue("local_ray")
    if request.param == "slurm":
        pytest.importorskip("submitit")
        request.getfixturevalue("monkeypatch").setattr(SlurmBackend, "cluster", "local")
    return str(request.param)


def run(folder: Path, executor: str) -> Study:
    folder.mkdir()
    (folder / "small.yaml").write_text(EXPERIMENT)
    return harness.load(folder / "small.yaml", store=folder / "runs").run(executor=executor)


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return run(tmp_path_factory.mktemp("studies") / "serial", "serial")


def test_a_new_backend_is_one_entry(
    serial: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BACKENDS, "threads", ThreadBackend)
    study = run(tmp_path / "threads", "threads")
    assert not study.last_run.failed
    assert sorted(study.last_run.computed) == sorted(study.plan.stages)
    assert study.last_run.computed and study.plan.stages.keys() == serial.plan.stages.keys()
    pd.testing.assert_frame_equal(study.scores(), serial.scores())
    assert sorted(job.key for job in ThreadBackend.jobs) == sorted(study.plan.stages)
    for job in ThreadBackend.jobs:
        assert pickle.loads(pickle.dumps(job)) == job
        assert str(tmp_path) not in json.dumps(job.spec)
        store = (study.store.root / "artifacts").as_uri()
        assert all(artifact.uri.startswith(store) for artifact in job.inputs.values())
        assert job.compute == study.plan.experiment.compute


@pytest.mark.parametrize("name", ["ray"], indirect=True)
def test_scores_are_those_of_the_serial_backend(name: str, serial: Study, tmp_path: Path) -> None:
    study = run(tmp_path / name, name)
    assert sorted(study.last_run.computed) == sorted(study.plan.stages)
    pd.testing.assert_frame_equal(study.scores(), serial.scores())
    times = learned_run_times(study.store.root, name)
    assert times.startup > 0 and times != RunTimes()


def job(key: str, **spec: object) -> StageJob:
    return StageJob("tokenizer", key, spec, {}, Compute(accelerator="cpu"))


@pytest.fixture
def jobs() -> list[StageJob]:
    """One that succeeds, and one that fails without a spec."""
    return [job("good", **TOKENIZER_SPEC), job("bad")]


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in [*BACKENDS, "threads"] if name != "slurm"),
        pytest.param("slurm", marks=pytest.mark.campaign),  # a process for each stage
    ],
    indirect=True,
)
def test_outcomes_are_alike(
    name: str, jobs: list[StageJob], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BACKENDS, "threads", ThreadBackend)
    backend = BACKENDS[name](Workspace(tmp_path), 1)
    assert backend.capacity >= 1
    ended: dict[str, Outcome] = {}
    for one in jobs:
        backend.submit(one)
        while one.key not in ended:
            ended |= {outcome.key: outcome for outcome in backend.wait(0.1)}
    good, bad = ended["good"], ended["bad"]
    assert good.output is not None and good.error is None
    figures = {"seconds", "stage_seconds", "peak_rss_bytes", "vocab_size"}
    assert good.output.metrics.keys() == figures
    assert "torch" in good.output.made_with
    assert (backend.workspace.output("good") / "tokenizer.json").is_file()
    assert isinstance(bad.error, KeyError) and bad.output is None and not bad.lost
    assert backend.workspace.error("bad") == "KeyError: 'tokenizer'"
    assert not backend.wait(0)
    if name != "slurm":  # whose jobs on this machine only end by themselves
        backend.submit(replace(jobs[0], key="cancelled"))
        backend.cancel("cancelled")
        assert not backend.wait(0)
        backend.submit(jobs[0])  # which has ended, and so loads nothing in a new worker
        while not (outcomes := backend.wait(0.1)):
            pass
        assert [(one.key, one.output) for one in outcomes] == [("good", good.output)]
    backend.close()
    backend.close()


def test_a_killed_worker_is_lost_and_says_why_it_may_be(tmp_path: Path) -> None:
    backend = ProcessBackend(Workspace(tmp_path))
    backend.submit(job("k"))
    for slot in (slot for _, slot in backend._running.values()):
        for process in list(slot.pool._processes.values()):
            process.kill()
    while not (outcomes := backend.wait(0.1)):
        pass
    assert outcomes[0].lost and "was killed, as when memory runs out" in str(outcomes[0].error)
    backend.close()


def test_an_interrupt_does_not_reach_a_worker_that_starts() -> None:
    """Ctrl-C goes to all processes of the terminal, and this one would print a traceback."""
    worker = WorkerProcess(1)
    call = worker.submit(os.getpid)
    (pid,) = worker.pool._processes
    os.kill(pid, signal.SIGINT)
    assert call.result() == pid
    worker.close()


class OwnError(Exception):
    """As those of the Hub's client: it cannot be made again from its text alone."""

    def __init__(self, text: str, response: int) -> None:
        super().__init__(f"{text} {response}")


def fail(job: StageJob, workspace: Workspace) -> None:
    raise OwnError("not found", 404)


def test_an_error_that_no_other_process_can_read_is_no_killed_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "run_stage", fail)
    backend = ProcessBackend(Workspace(tmp_path))
    backend.submit(job("k"))
    while not (outcomes := backend.wait(0.1)):
        pass
    assert not outcomes[0].lost and str(outcomes[0].error) == "OwnError: not found 404"
    backend.close()


STOPPED = StageJob("pretrain", "key", {"pretrain": {}}, {}, Compute(threads=2, num_nodes=2))
"""Fails in a worker before that imports what stages need, which takes seconds."""


def test_workers_have_the_declared_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says; the script that started them is not run again."""
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "script.py")
    (tmp_path / "script.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.setitem(sys.modules, "__main__", script)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    backend = ProcessBackend(Workspace(tmp_path), 1)
    backend.submit(STOPPED)
    ((_, slot),) = backend._running.values()
    assert slot.pool.submit(torch.get_num_threads).result() == 2
    backend.close()
    assert sys.modules["__main__"] is script and not (tmp_path / "ran").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="OpenMP is of another kind")
@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("active", "ACTIVE")])
def test_threads_sleep_while_they_wait(
    given: str | None,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As the OpenMP library of torch reports it, in a worker; a given policy is kept."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("OMP_DISPLAY_ENV", "true")
    if given:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    worker = WorkerProcess(2)
    assert worker.submit(torch.get_num_threads).result() == 2
    worker.close()
    policies = set(re.findall(r"OMP_WAIT_POLICY = '(\w+)'", capfd.readouterr().err))
    assert policies == {expected}


def test_default_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(processes, "gpus", lambda: ())
    assert default_threads() == 1
    monkeypatch.setattr(processes, "gpus", lambda: ("0",))
    assert default_threads() == num_cpus()


@pytest.mark.skipif(num_cpus() < 2, reason="there is one CPU")
def test_a_run_takes_the_cpus_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its affinity, as `taskset` and SLURM set it, and no more threads than those."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    own = os.sched_getaffinity(0)
    most = num_cpus()
    assert cpu_jobs() == min(MAX_JOBS, most)
    assert cpu_jobs(threads=2) == min(MAX_JOBS, most // 2)
    assert cpu_jobs(threads=10_000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", str(most))
    assert cpu_jobs() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    os.sched_setaffinity(0, {min(own)})
    try:
        assert num_cpus() == cpu_jobs() == 1
    finally:
        os.sched_setaffinity(0, own)


def test_serial_refuses_several_jobs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one stage at a time, but jobs is 2"):
        BACKENDS["serial"](Workspace(tmp_path), 2)


def test_serial_has_the_threads_of_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More would slow it to a tenth beside other work; what the process had before is restored."""
    seen: list[int] = []
    monkeypatch.setattr(
        "harness.execution.backends.serial.run_stage",
        lambda *_: seen.append(torch.get_num_threads()),
    )
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    backend = BACKENDS["serial"](Workspace(tmp_path))
    for threads in (None, before + 1):
        backend.submit(
            StageJob("tokenizer", "key", {}, {}, Compute(accelerator="cpu", threads=threads))
        )
        backend.wait(0)
    assert seen == [default_threads(), before + 1] and torch.get_num_threads() == before


def test_workers_start_before_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as fit, with what stages import, here a module that loads at once; one that died
    before its first stage is replaced."""
    assert import_module(processes.STAGES).STAGES
    (tmp_path / "module_of_stages.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(processes, "STAGES", "module_of_stages")
    imported = "'module_of_stages' in __import__('sys').modules"
    backend = ProcessBackend(Workspace(tmp_path), 2)
    try:
        backend.prepare(5, Compute(threads=1))
        assert len(backend._idle) == 2
        backend.prepare(1, Compute(threads=1))
        assert len(backend._idle) == 2
        assert all(one.submit(eval, imported).result() for one in backend._idle)
        died = backend._idle[-1].submit(os._exit, 1)
        assert died.exception()
        backend.submit(STOPPED)
        assert len(backend._idle) == 1
        outcomes: Sequence[Outcome] = ()
        while not outcomes:
            outcomes = backend.wait(1)
        assert "compute.num_nodes must be 1" in str(outcomes[0].error)  # that of the stage
    finally:
        backend.close()


def test_workers_see_one_of_several_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that fewest others have, also in place of a worker that died."""
    (tmp_path / "module_of_stages.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(processes, "STAGES", "module_of_stages")
    monkeypatch.setattr(processes, "gpus", lambda: ("3", "5"))
    backend = ProcessBackend(Workspace(tmp_path), 3)
    try:
        backend.prepare(3, Compute(threads=1))
        assert [one.gpu for one in backend._idle] == ["3", "5", "3"]
        seen = backend._idle[1].submit(os.getenv, "CUDA_VISIBLE_DEVICES")
        assert seen.result() == "5"
        backend._idle.pop(1).close()
        backend.prepare(1, Compute(threads=1))
        assert [one.gpu for one in backend._idle] == ["3", "3", "5"]
    finally:
        backend.close()
