"""Keeps what people look at up to date while stages run: MLflow's and Optuna's studies."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import TracebackType

from harness.core.secrets import mask
from harness.execution.job import Workspace
from harness.execution.search_studies import SearchStudies
from harness.execution.study_runs import FAILED, RUNNING, State, StudyRuns
from harness.plan.plan import Plan
from harness.store.outages import without_waiting
from harness.store.store import StageResult, Store

LOGGER = "mlflow"
"""The name in `compute.loggers` without which studies are not shown in MLflow."""
UPDATE_SECONDS = 5.0
"""Time between two updates."""


View = StudyRuns | SearchStudies


class Tracker:
    """A context in which a thread shows the stages that are running or have ended.

    The thread belongs to the process that writes to the store; workers write files only. Neither
    training nor scheduling waits for it, and an error in it affects no result.
    """

    def __init__(self, plan: Plan, store: Store, workspace: Workspace) -> None:
        """A tracker of the study's MLflow runs, unless `compute.loggers` lacks `LOGGER`, and of its
        searches, if it has any."""
        logged, searched = LOGGER in plan.experiment.compute.loggers, plan.experiment.sweep.trials
        self.views: list[View] = [StudyRuns(plan, store, workspace)] if logged else []
        self.views += [SearchStudies(plan, store, workspace)] if searched else []
        self.problems: dict[str, str] = {}
        """Title of a view to the reason why it is incomplete."""
        self._states: dict[str, State] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Tracker":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        with without_waiting() if error else nullcontext():
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        # After an interrupt, showing many earlier results does not delay the end.
        self._thread.join(UPDATE_SECONDS if error else None)
        for view in self.views:
            self._try(view, view.interrupt if error else partial(view.finish, self._states))

    def is_complete(self) -> bool:
        """Whether all finished stages are shown."""
        finished = {one.key: one for one in self._states.values() if isinstance(one, StageResult)}
        return all(view.are_complete(finished) for view in self.views)

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
            for view in self.views:
                self._try(view, partial(view.update, dict(self._states)))
            if self._stop.wait(UPDATE_SECONDS):
                return

    def _try(self, view: View, action: Callable[[], None]) -> None:
        try:
            action()
            self.problems.pop(view.title, None)
        except Exception as error:  # whatever MLflow or Optuna raises: results do not need them
            line = f"{type(error).__name__}: {error}".splitlines()[0]
            self.problems[view.title] = mask(line)
