"""The interface of what computes stages."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.execution.job import StageJob, StageOutput
from harness.execution.workspace import Workspace


@dataclass(frozen=True)
class Outcome:
    """The end of a submitted stage."""

    key: str
    output: StageOutput | None = None
    """Null if it failed, or if another process has computed and recorded it."""
    error: BaseException | None = None
    lost: bool = False
    """Whether the worker died, so that the stage may be submitted again."""


class Backend(ABC):
    """Computes stages somewhere. The executor decides which, and records what they leave.

    A backend calls `harness.execution.worker.run_stage` on each job. When `wait` returns an outcome
    with an output, the files of the stage are in `workspace.output` of the executor's machine.
    """

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """`jobs` is the number of stages at a time; null leaves it to the backend.

        Raises:
            ValueError: the backend cannot compute so many.
        """
        self.workspace = workspace

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Stages computed at a time."""

    @abstractmethod
    def submit(self, job: StageJob) -> None:
        """Begins to compute a stage; the executor submits no more than `capacity` at a time."""

    @abstractmethod
    def wait(self, seconds: float) -> Sequence[Outcome]:
        """The stages that have ended since the last call; returns after `seconds` at the latest,
        unless the backend computes in this process."""

    @abstractmethod
    def cancel(self, key: str) -> None:
        """Stops computing a stage, of which no outcome is returned then."""

    @abstractmethod
    def close(self) -> None:
        """Ends all workers; what is running is cancelled."""

    def progress(self, key: str) -> dict[str, Any]:
        """The last progress report of a running stage; empty before the first."""
        return self.workspace.progress(key)
