"""SLURM: what is asked of it, by commands that keep what they are given; jobs that it ends, with
jobs that are processes of this machine."""

import os
import pickle
import signal
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.core.compute import Compute, Resources, StageResources
from harness.execution.backends import make_backend, slurm
from harness.execution.backends.backend import Outcome
from harness.execution.backends.remote import surroundings
from harness.execution.backends.slurm import DEFAULT_MINUTES, SlurmBackend, parameters
from harness.execution.job import Node, StageJob, StageOutput, Workspace
from harness.execution.worker import run_stage
from tests.execution.backends.tokenizer_spec import TOKENIZER_SPEC

submitit = pytest.importorskip("submitit")

ENDED_ONCE = """
import os, signal
from pathlib import Path
CORPORA = {}
mark = Path(__file__).with_name("ended")
if not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.SIGUSR2)
"""
"""A plug-in that gets the signal of the time limit when it is imported first."""
DYING = "import os\nCORPORA = {}\nos._exit(1)\n"
COMMANDS = {
    "srun": "",
    "sbatch": 'cp "$1" {folder}/script && echo Submitted batch job $(cat {folder}/id)',
    "sacct": "cat {folder}/states",
    "scancel": "echo $1 >> {folder}/cancelled",
}


def job(key: str, kind: str = "tokenizer", *plugins: str, **compute: Any) -> StageJob:
    spec = TOKENIZER_SPEC
    return StageJob(kind, key, spec, {}, Compute(**compute), plugins=plugins)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with commands of SLURM, for jobs with the id of its file `id`."""
    for name, line in COMMANDS.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{line.format(folder=tmp_path)}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(slurm, "CHECK_SECONDS", 0.0)
    submitit.SlurmJob.watcher.clear()
    (tmp_path / "id").write_text("7")
    (tmp_path / "states").write_text("JobID|State|NodeList\n")
    return tmp_path


def script(commands: Path) -> set[str]:
    """The options of the last script that was submitted, and its command."""
    lines = (commands / "script").read_text().splitlines()
    return {line.removeprefix("#SBATCH ") for line in lines if line}


def test_a_job_asks_for_what_a_stage_takes(commands: Path) -> None:
    backend = SlurmBackend(Workspace(commands / "runs"))
    pretrain = Resources(gpus=1, cpus=8, memory_gb=64, minutes=90.5)
    resources = StageResources(kinds={"pretrain": pretrain}, custom={"shard": 2})
    backend.submit(job("a", "pretrain", threads=4, resources=resources))
    backend.wait(0)
    lines = script(commands)
    asked = "--cpus-per-task=8 --gpus-per-node=1 --mem=64GB --time=91 --gres=shard:2 --no-requeue"
    assert lines >= set(asked.split())
    assert "--signal=USR2@90" in lines
    (command,) = (line for line in lines if line.startswith("srun"))
    assert " --cpus-per-task=8 " in command and str(commands / "runs" / "slurm") in command
    (commands / "id").write_text("8")
    backend.submit(job("b", "finetune", threads=2))
    backend.wait(0)
    lines = script(commands)
    assert lines >= {"--cpus-per-task=2", "--gpus-per-node=0", f"--time={DEFAULT_MINUTES:.0f}"}
    assert not any(line.startswith(("--mem", "--gres", "--array")) for line in lines)
    assert parameters(job("c", accelerator="gpu"))["gpus_per_node"] == 1
    many = StageResources(custom={"bandwidth": 2_000_000})  # not 2e+06
    assert parameters(job("d", resources=many))["slurm_gres"] == "bandwidth:2000000"
    backend.close()
    assert (commands / "cancelled").read_text().split() == ["7", "8"]


def test_pretraining_takes_all_its_devices() -> None:
    spec: dict[str, Any] = {"pretrain": {}}
    compute = Compute(devices=4, accelerator="gpu", threads=2)
    asked = parameters(StageJob("pretrain", "a", spec, {}, compute))
    assert (asked["gpus_per_node"], asked["cpus_per_task"]) == (4, 8)
    asked = parameters(StageJob("finetune", "b", spec, {}, compute))
    assert (asked["gpus_per_node"], asked["cpus_per_task"]) == (1, 2)


def test_a_stage_that_lost_a_process_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BrokenProcessPool("process 1 of 2 of the stage died")

    monkeypatch.setattr(slurm, "compute_stage", fail)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(submitit, "JobEnvironment", lambda: SimpleNamespace(global_rank=0))
    outcome = slurm.Task(job("a"), Workspace(tmp_path), [Node(0, "")], surroundings(1))()
    assert outcome.lost and isinstance(outcome.error, BrokenProcessPool)


def test_stages_submitted_together_are_an_array(commands: Path) -> None:
    """A preempted job is lost; a result is that of its stage."""
    (commands / "states").write_text(
        "JobID|State|NodeList\n7_0|PREEMPTED|n1\n7_1|RUNNING|n2\n7_2|NODE_FAIL|n3\n"
    )
    backend = SlurmBackend(Workspace(commands / "runs"), 3)
    assert backend.capacity == 3
    for key in "abc":
        backend.submit(job(key))
    found = {one.key: one for one in backend.wait(0)}
    assert "--array=0-2%3" in script(commands)
    assert found.keys() == {"a", "c"} and all(one.lost for one in found.values())
    assert "job 7_2 of SLURM ended (NODE_FAIL)" in str(found["c"].error)
    good = Outcome("b", StageOutput({"seconds": 1.0}, "here"))
    paths = backend._running["b"].paths
    paths.result_pickle.write_bytes(pickle.dumps(("success", good)))
    assert list(backend.wait(0)) == [good]
    assert not paths.result_pickle.exists() and not paths.submitted_pickle.exists()
    assert not backend.wait(0)


def test_a_refused_job_is_one_line(commands: Path) -> None:
    (commands / "sbatch").write_text("#!/bin/sh\necho Invalid partition >&2; exit 1\n")
    backend = SlurmBackend(Workspace(commands / "runs"))
    backend.submit(job("a"))
    with pytest.raises(ValueError, match=r"must accept the jobs, but .*Invalid partition"):
        backend.wait(0)
    backend.close()
    half = Compute(resources=StageResources(gpus=0.5))
    with pytest.raises(ValueError, match=r"gives whole GPUs, but .+ is 0\.5"):
        backend.submit(StageJob("pretrain", "b", {}, {}, half))


def test_a_cancelled_stage_is_not_submitted(commands: Path) -> None:
    backend = SlurmBackend(Workspace(commands / "runs"))
    backend.submit(job("a"))
    backend.cancel("a")
    assert not backend.wait(0) and not (commands / "script").exists()
    backend.submit(job("a"))
    backend.wait(0)
    backend.cancel("a")
    assert (commands / "cancelled").read_text() == "7\n"
    assert not backend.wait(0)


def test_an_ended_job_is_lost_and_leaves_its_stage_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlurmBackend, "cluster", "local")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ended_once.py").write_text(ENDED_ONCE)
    backend = SlurmBackend(Workspace(tmp_path / "runs"), 1)
    ended = job("ended", "tokenizer", "ended_once", accelerator="cpu")
    backend.submit(ended)
    outcomes: Sequence[Outcome] = ()
    while not outcomes:
        outcomes = backend.wait(0.1)
    (outcome,) = outcomes
    assert outcome.lost and str(outcome.error) == "SLURM ended the job"
    assert not backend.workspace.is_leased("ended") and not backend.workspace.error("ended")
    assert run_stage(ended, backend.workspace)
    backend.close()


def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="must be started where SLURM's commands srun and sbatch"):
        make_backend("slurm", Workspace(tmp_path))
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ValueError, match=r"pip install 'pretraining-harness\[slurm\]'"):
        make_backend("slurm", Workspace(tmp_path))
