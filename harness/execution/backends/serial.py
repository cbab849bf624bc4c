"""Stages one after another in this process, for debugging."""

from collections.abc import Sequence

from harness.execution.backends.backend import Backend, Outcome
from harness.execution.backends.processes import default_threads
from harness.execution.job import StageJob, Workspace
from harness.execution.worker import run_stage
from harness.execution.worker_process import torch_threads


class SerialBackend(Backend):
    """Computes the submitted stages in `wait`, with the threads of a local process. Breakpoints
    work."""

    capacity = 1

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """An empty queue.

        Raises:
            ValueError: `jobs` is neither 1 nor null.
        """
        super().__init__(workspace)
        if jobs not in (None, 1):
            raise ValueError(
                f"the executor serial computes one stage at a time, but jobs is {jobs}; omit it"
            )
        self._queue: list[StageJob] = []

    def submit(self, job: StageJob) -> None:
        """Queues a stage."""
        self._queue.append(job)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Computes all queued stages."""
        outcomes = []
        while self._queue:
            job = self._queue.pop(0)
            try:
                with torch_threads(job.compute.threads or default_threads(job.compute)):
                    outcomes.append(Outcome(job.key, run_stage(job, self.workspace)))
            except Exception as error:  # whatever a stage raises is its outcome
                outcomes.append(Outcome(job.key, error=error))
        return outcomes

    def cancel(self, key: str) -> None:
        """Removes a stage from the queue."""
        self._queue = [job for job in self._queue if job.key != key]

    def close(self) -> None:
        """Empties the queue."""
        self._queue.clear()
