"""Stages as jobs of SLURM, submitted by submitit."""

import math
import signal
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from shutil import which
from typing import Any, NoReturn

from harness.core.compute import Compute
from harness.core.cpus import given_threads
from harness.execution.backends.backend import Backend, Outcome
from harness.execution.backends.remote import Surroundings, compute_stage, nodes_of, surroundings
from harness.execution.devices import uses_devices
from harness.execution.job import Node, StageJob, Workspace

MAX_JOBS = 100
"""Default limit of jobs that are queued or running."""
DEFAULT_MINUTES = 240.0
"""Time limit of a job whose `compute.resources.minutes` is null."""
CHECK_SECONDS = 1.0
"""Least time between two looks at all jobs, each of which reads a shared folder."""


class SlurmBackend(Backend):
    """A job per stage; those that are submitted together and take the same are a job array. A job
    that is preempted, or reaches its time limit, is lost: the executor submits the stage again."""

    cluster = "slurm"
    """submitit's name of the cluster; `local` is processes of this machine."""

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """No jobs; null `jobs` is MAX_JOBS.

        Raises:
            ValueError: submitit is not installed, or this machine is no node of a SLURM cluster.
        """
        super().__init__(workspace)
        try:
            from submitit import AutoExecutor
        except ImportError:
            line = "the executor slurm needs a package: pip install 'pretraining-harness[slurm]'"
            raise ValueError(line) from None
        if self.cluster == "slurm" and not (which("srun") and which("sbatch")):
            raise ValueError(
                "the executor slurm must be started where SLURM's commands srun and sbatch are, "
                "but they are not found: log in to a node of the cluster, or add them to PATH"
            )
        self._executor = partial(AutoExecutor, workspace.root / "slurm", cluster=self.cluster)
        self.capacity = jobs or MAX_JOBS
        self._waiting: list[StageJob] = []
        self._running: dict[str, Any] = {}
        """Key to submitit's job."""
        self._last_check = 0.0

    def submit(self, job: StageJob) -> None:
        """Queues a stage, which the next `wait` submits together with others.

        Raises:
            ValueError: SLURM cannot give what the stage takes.
        """
        parameters(job)
        self._waiting.append(job)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Submits the queued stages; returns those that ended within `seconds`.

        Raises:
            ValueError: SLURM refuses a job.
        """
        self._submit_waiting()
        time.sleep(min(seconds, max(0.0, self._last_check + CHECK_SECONDS - time.monotonic())))
        if time.monotonic() < self._last_check + CHECK_SECONDS:
            return []
        ended = [key for key, job in self._running.items() if _has_ended(job.task(0))]
        self._last_check = time.monotonic()
        return [_outcome(key, self._running.pop(key)) for key in ended]

    def _submit_waiting(self) -> None:
        arrays: list[tuple[dict[str, Any], list[StageJob]]] = []
        for one in self._waiting:
            taken = parameters(one)
            if arrays and arrays[-1][0] == taken:
                arrays[-1][1].append(one)
            else:
                arrays.append((taken, [one]))
        self._waiting = []
        for taken, jobs in arrays:
            executor = self._executor()  # a used one would keep the parameters of other kinds
            executor.update_parameters(**taken)
            try:
                with executor.batch():
                    for one in jobs:
                        around = surroundings(_threads(one), in_files=True)
                        task = Task(one, self.workspace, nodes_of(one), around)
                        self._running[one.key] = executor.submit(task)
            except RuntimeError as error:  # submitit's, with what sbatch printed
                line = str(error).strip().splitlines()[-1]
                for one in jobs:
                    del self._running[one.key]
                raise ValueError(f"SLURM must accept the jobs, but sbatch says: {line}") from error

    def cancel(self, key: str) -> None:
        """Cancels the job of a stage, or takes the stage out of the queue."""
        self._waiting = [job for job in self._waiting if job.key != key]
        if job := self._running.pop(key, None):
            job.cancel(check=False)

    def close(self) -> None:
        """Cancels all jobs."""
        self._waiting = []
        for key in list(self._running):
            self.cancel(key)


def _threads(job: StageJob) -> int:
    compute = job.compute
    return compute.threads or compute.resources.of(job.kind).cpus or given_threads() or 1


def parameters(job: StageJob) -> dict[str, Any]:
    """submitit's parameters of the job of a stage. SLURM does not requeue it, so that the executor
    can stop repeating a stage that does not come further.

    Raises:
        ValueError: the stage takes a part of a GPU.
    """
    taken, threads = job.compute.resources.of(job.kind), _threads(job)
    devices = _devices(job)
    cpus = taken.cpus or threads * devices
    gpus = _gpus(job.compute, taken.gpus, devices)
    found: dict[str, Any] = {
        "name": f"harness-{job.kind}",
        "timeout_min": math.ceil(taken.minutes or DEFAULT_MINUTES),
        "cpus_per_task": cpus,
        "gpus_per_node": gpus,
        "slurm_srun_args": [f"--cpus-per-task={cpus}"],  # not inherited since SLURM 22.05
        "slurm_additional_parameters": {"no-requeue": True},
    }
    if (num_nodes := len(nodes_of(job))) > 1:
        found |= {"nodes": num_nodes, "tasks_per_node": 1}
    if taken.memory_gb:
        found["mem_gb"] = taken.memory_gb
    if taken.custom:
        found["slurm_gres"] = ",".join(f"{name}:{n:.15g}" for name, n in taken.custom.items())
    return found


def _devices(job: StageJob) -> int:
    """Devices of a stage on each node; how many `auto` are, is not known here."""
    devices = job.compute.devices
    return devices if uses_devices(job) and devices != "auto" else 1


def _gpus(compute: Compute, declared: float | None, devices: int) -> int:
    """GPUs of a job on each node; the process that submits it cannot know whether there are any."""
    if declared is None:
        return devices * int(compute.accelerator == "gpu")
    if declared % 1:
        raise ValueError(
            f"SLURM gives whole GPUs, but compute.resources.gpus is {declared:g}: declare 0 or 1, "
            "or where the cluster has shards of GPUs, gpus: 0 and custom: {shard: 1}"
        )
    return int(declared)


class Ended(BaseException):
    """SLURM ends the job: its time limit is near, or it is preempted. No stage catches it."""


@dataclass(frozen=True)
class Task:
    """What a job runs on each of its nodes."""

    job: StageJob
    workspace: Workspace
    nodes: Sequence[Node]
    around: Surroundings

    def __call__(self) -> Outcome:
        """The outcome of the stage, as the first node returns it."""
        from submitit import JobEnvironment

        node = self.nodes[JobEnvironment().global_rank]
        key = self.job.key
        signal.signal(signal.SIGTERM, self.checkpoint)  # of a preemption
        try:
            return Outcome(key, compute_stage(self.job, self.workspace, node, *self.around))
        except Ended:
            return Outcome(key, error=RuntimeError("SLURM ended the job"), lost=True)
        except Exception as error:  # whatever a stage raises is its outcome
            return Outcome(key, error=error, lost=isinstance(error, BrokenProcessPool))

    def checkpoint(self, *_: object) -> NoReturn:
        """Called by submitit shortly before the time limit. Checkpoints are saved already.

        Raises:
            Ended: always.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which may follow
        raise Ended


def _has_ended(job: Any) -> bool:
    return bool(job.done()) or job.state == "PREEMPTED"  # which submitit expects to be requeued


def _outcome(key: str, job: Any) -> Outcome:
    """The outcome of an ended job; without a result it was killed, as with its node."""
    first = job.task(0)
    if job.num_tasks > 1:  # the others, which follow, may not have ended
        job.cancel(check=False)
    if not first.paths.result_pickle.exists():
        state = f"job {job.job_id} of SLURM ended ({first.state}); its output: {first.paths.stderr}"
        return Outcome(key, error=RuntimeError(state), lost=True)
    try:
        found: Outcome = first.result()
    except RuntimeError:  # submitit's: the task could not be loaded, or its outcome not be sent
        error = RuntimeError(f"job {job.job_id} of SLURM failed; its output: {first.paths.stderr}")
        return Outcome(key, error=error)
    if found.output:
        for paths in (job.task(number).paths for number in range(job.num_tasks)):
            of_job = (paths.submitted_pickle, paths.submission_file, paths.result_pickle)
            for file in (*of_job, paths.stdout, paths.stderr):
                file.unlink(missing_ok=True)
    return found
