"""The interface of execution backends."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.compute import Compute
from harness.execution.job import StageJob, StageOutput, Workspace


class WorkerKilledError(RuntimeError):
    """The process of a stage ended without an outcome."""


@dataclass(frozen=True)
class Outcome:
    """The end of a submitted stage."""

    key: str
    output: StageOutput | None = None
    """Null if the stage failed, or if another process has computed and recorded it."""
    error: BaseException | None = None
    lost: bool = False
    """Whether the worker died; the executor then submits the stage once more."""


class Backend(ABC):
    """Computes the stages that the executor submits.

    A backend calls `harness.execution.worker.run_stage` on each job. When `wait` returns an outcome
    with an output, the files of the stage must be in `workspace.output` on the executor's machine.
    """

    capacity: int
    """Most stages that may be submitted at a time; it may change during a run."""

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """A backend without running stages.

        Args:
            jobs: stages at a time; null is the backend's own default.

        Raises:
            ValueError: the backend does not support so many jobs.
        """
        self.workspace = workspace

    @abstractmethod
    def submit(self, job: StageJob) -> None:
        """Starts or queues a stage."""

    def prepare(self, number: int, compute: Compute) -> None:  # noqa: B027  # optional
        """Starts what so many more stages at a time will need, while others are computed; by
        default nothing.

        Args:
            compute: of the stages.
        """

    @abstractmethod
    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Stages that ended since the last call; waits up to `seconds` for one, or longer if the
        backend computes in this process."""

    @abstractmethod
    def cancel(self, key: str) -> None:
        """Stops a stage; no outcome is returned for it."""

    @abstractmethod
    def close(self) -> None:
        """Ends all workers and cancels running stages; may be called again."""

    def progress(self, key: str) -> dict[str, Any]:
        """The latest progress report of a running stage; empty before the first."""
        return self.workspace.progress(key)
