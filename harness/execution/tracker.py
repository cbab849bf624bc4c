"""Keeps the MLflow experiment of a study up to date while its stages run."""

import threading
from collections.abc import Callable
from types import TracebackType

from harness.execution.job import Workspace
from harness.execution.study_runs import FAILED, RUNNING, State, StudyRuns
from harness.plan.plan import Plan
from harness.store.store import StageResult, Store

LOGGER = "mlflow"
"""The name in `compute.loggers` without which studies are not shown in MLflow."""
UPDATE_SECONDS = 5.0
"""Time between two updates."""


class Tracker:
    """A context in which a thread shows the stages that are running or have ended.

    The thread belongs to the process that writes to the store; workers write files only. Neither
    training nor scheduling waits for it, and an error in it affects no result.
    """

    def __init__(self, plan: Plan, store: Store, workspace: Workspace) -> None:
        """A tracker that does nothing if the loggers of the plan lack `LOGGER`."""
        self.enabled = LOGGER in plan.experiment.compute.loggers
        self.study = StudyRuns(plan, store, workspace)
        self.problem = ""
        """Why MLflow does not show all; empty if it does."""
        self._states: dict[str, State] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Tracker":
        if self.enabled:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.enabled:
            self._stop.set()
            self._thread.join()
            self._try(self.study.interrupt if error else lambda: self.study.finish(self._states))

    def is_complete(self) -> bool:
        """Whether all finished stages are shown, or none is to be."""
        finished = {one.key: one for one in self._states.values() if isinstance(one, StageResult)}
        return not self.enabled or self.study.are_complete(finished)

    def running(self, key: str) -> None:
        """Shows a stage with what it logs."""
        self._states[key] = RUNNING

    def failed(self, key: str) -> None:
        """Shows that a stage failed."""
        self._states[key] = FAILED

    def finished(self, result: StageResult) -> None:
        """Shows the result of a stage."""
        self._states[result.key] = result

    def _work(self) -> None:
        while True:
            self._try(lambda: self.study.update(dict(self._states)))
            if self._stop.wait(UPDATE_SECONDS):
                return

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
            self.problem = ""
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0]
