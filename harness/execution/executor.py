"""Runs a plan on a backend: schedules stages by their parents, records results, resumes."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.counting import number_of
from harness.core.secrets import mask
from harness.data.digests import DataChangedError
from harness.execution.backends.backend import Backend, Outcome, WorkerKilledError
from harness.execution.execution_result import Execution
from harness.execution.job import StageJob, StageOutput
from harness.execution.lease import RECORDING, LeaseHeldError, LeaseLostError, lease
from harness.execution.priority import ReadyQueue
from harness.execution.progress import Display, share_done
from harness.execution.restored import forget_partial
from harness.execution.time_left import PLANNED_FLOPS
from harness.execution.tracker import Tracker
from harness.execution.worker_process import ForeignError
from harness.experiment.plugins import PluginError
from harness.plan.first_seeds import look_of_stages
from harness.plan.plan import Plan, Stage
from harness.store.artifacts import Artifact
from harness.store.store import StageResult, Store
from harness.store.verification import forget_damaged

POLL_SECONDS = 0.2
"""Longest wait for an outcome between two updates of the display."""
DISPLAY_SHARE = 0.01
"""Most of the time that updates of the display take: in plans of thousands of stages they become
less frequent, since each estimates the time left of all stages."""
CLEAR = (PluginError, DataChangedError, WorkerKilledError, ForeignError)
"""Errors whose text says what they are."""
LEAST_PROGRESS = 0.01
"""Share of its updates by which a stage must have come further when it is lost again."""


def execute(plan: Plan, store: Store, backend: Backend, display: Display) -> Execution:
    """Computes the results that the store lacks, with the stages they depend on.

    A failed stage does not stop the others; stages that depend on it are skipped. The backend is
    closed after the last stage.
    """
    finished = store.finished(plan.stages)
    execution = Execution(finished=forget_damaged(store, finished))
    if lost := len(finished) - len(execution.finished):
        display.warn(
            f"files of {number_of(lost, 'finished stage')} are damaged; they are computed again"
        )
    if partial := forget_partial(plan, store, execution.finished):
        why = "restored from an archive without weights that other stages need"
        display.warn(f"{why}, and computed again: {number_of(partial, 'stage')}")
    tracker = Tracker(plan, store, backend.workspace)
    for key, result in execution.finished.items():
        tracker.finished(result)
        backend.workspace.clean(key)  # a kill between recording and cleaning leaves files
    todo = plan.to_compute(execution.finished)
    if todo:
        display.begin(todo, backend.capacity)
        with tracker:
            looks = look_of_stages(plan)
            queue = ReadyQueue(plan.stages, todo, execution.finished, looks)
            _Loop(plan, store, backend, execution, queue, display, tracker).run()
        display.end()
    elif not tracker.is_complete():
        with tracker:
            pass
    execution.problems = [f"{view}: {problem}" for view, problem in tracker.problems.items()]
    for problem in execution.problems:
        display.warn(f"could not be updated, the results are not affected: {problem}")
    return execution


@dataclass
class _Loop:
    """Submits ready stages and records ended ones until no stage is left or ready.

    Other processes, on any machine that shares the store, may run the same plan or one that has
    stages in common: a stage that one of them computes is left to it as long as it responds.
    """

    plan: Plan
    store: Store
    backend: Backend
    execution: Execution
    queue: ReadyQueue
    display: Display
    tracker: Tracker
    running: set[str] = field(default_factory=set)
    lost: dict[str, float] = field(default_factory=dict)
    """Key to the share of its updates that a stage had done when it was lost, the largest if it was
    lost several times."""
    verified: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    """Ready stages that other processes compute; ready here once they have ended there."""
    prepared: bool = False
    """Whether workers were started for the stages that wait."""
    next_tick: float = 0.0
    """When the display is updated next."""

    def run(self) -> None:
        """Runs to the end and closes the backend."""
        try:
            while self.queue.waiting or self.running:
                for leased in self.elsewhere:
                    self.queue.push(leased)
                self.elsewhere.clear()
                while len(self.running) < self.backend.capacity and (key := self._next_ready()):
                    self._submit(key)
                self._prepare()
                if not self.running and not self.elsewhere:
                    break
                self._wait()
        finally:
            self.backend.close()

    def _prepare(self) -> None:
        """Has workers start for the stages that wait for running ones."""
        if not self.prepared:
            self.backend.prepare(len(self.queue.waiting), self.plan.experiment.compute)
            self.prepared = True

    def _submit(self, key: str) -> None:
        workspace = self.backend.workspace
        is_cleaned = workspace.is_cleaned(key)
        self.queue.waiting.discard(key)
        try:
            result = self.store.find(key) if is_cleaned or self.store.is_remote else None
        except OSError as error:
            self._fail(self.plan.stages[key], f"the store cannot be read: {error}")
            return
        if result:  # recorded by another process since this run began
            self._keep(result)
            self.display.advance(self.plan.stages[key])
            return
        if is_cleaned:
            workspace.forget(key)
        self.running.add(key)
        self.tracker.running(key)
        self.display.submitted(key)
        workspace.forget_progress(key)
        self.backend.submit(self._job(key))

    def _wait(self) -> None:
        """Handles the outcomes of a short time, or lets it pass while only others compute."""
        if not self.running:
            time.sleep(POLL_SECONDS)
        outcomes = self.backend.wait(POLL_SECONDS) if self.running else []
        if time.monotonic() >= self.next_tick:
            start = time.perf_counter()
            self.display.tick({key: self.backend.progress(key) for key in self.running})
            took = time.perf_counter() - start
            self.next_tick = time.monotonic() + took / DISPLAY_SHARE
        for outcome in outcomes:
            self.running.discard(outcome.key)
            self._handle(outcome)

    def _keep(self, result: StageResult) -> None:
        self.execution.finished[result.key] = result
        self.tracker.finished(result)
        self.queue.finish(result.key)

    def _next_ready(self) -> str | None:
        """The first ready stage that no other process computes and whose input files are intact."""
        self.queue.put_first(self._unknown_kinds(), self.running)
        while key := self.queue.pop():
            if self.backend.workspace.is_leased(key):
                self.elsewhere.add(key)
            elif self._parents_intact(key):  # else it is ready again once they are computed again
                return key
        return None

    def _unknown_kinds(self) -> set[str]:
        """The kinds of stages that never ran and do not run now."""
        stages, known = self.plan.stages, self.display.durations
        kinds = self.queue.kinds - {stages[key].kind for key in self.running if stages[key].flops}
        return {kind for kind in kinds if not known.knows(kind)}

    def _parents_intact(self, key: str) -> bool:
        """Verifies the input files of a stage; a damaged parent is computed again. A stage whose
        inputs cannot be downloaded fails."""
        for parent in self.plan.stages[key].parents.values():
            if parent not in self.execution.finished:  # found damaged for another stage just now
                return False
            if parent not in self.verified:
                try:
                    files = self._all_files(self.execution.finished[parent])
                except OSError as error:
                    self.queue.waiting.discard(key)
                    self._fail(self.plan.stages[key], f"its inputs cannot be read: {error}")
                    return False
                if files is None:
                    self.store.forget(self.execution.finished.pop(parent))
                    self._compute_again(parent)
                    return False
                self.verified.add(parent)
        return True

    def _all_files(self, result: StageResult) -> Path | None:
        """The files of a stage; null if they are damaged, or an archive left some out."""
        return None if result.left_out else self.store.fetch(result)

    def _compute_again(self, key: str) -> None:
        """Queues a stage that was finished, and those before it that are not."""
        known = (self.execution.finished, self.queue.waiting, self.running)
        for parent in self.plan.stages[key].parents.values():
            if not any(parent in stages for stages in known):
                self._compute_again(parent)
        self.queue.add(key)

    def _job(self, key: str) -> StageJob:
        stage, finished = self.plan.stages[key], self.execution.finished
        results = {role: finished[parent] for role, parent in stage.parents.items()}
        inputs = {role: Artifact(one.artifact_uri, one.digest) for role, one in results.items()}
        experiment = self.plan.experiment
        return StageJob(
            stage.kind,
            key,
            stage.spec,
            inputs,
            experiment.compute,
            experiment=experiment.name,
            label=stage.label,
            plugins=experiment.plugins,
        )

    def _handle(self, outcome: Outcome) -> None:
        stage, error = self.plan.stages[outcome.key], outcome.error
        if outcome.lost and self._may_resume(outcome.key):
            self.queue.add(outcome.key)
        elif isinstance(error, LeaseHeldError):
            if isinstance(error, LeaseLostError):
                self.execution.dropped.append(outcome.key)
            self.queue.add(outcome.key)
        elif error is not None:
            kind = "" if isinstance(error, CLEAR) else f"{type(error).__name__}: "
            again = "; it was run again and came no further" if outcome.lost else ""
            self._fail(stage, f"{kind}{error}{again}", by_worker=not outcome.lost)
        else:
            self._end(stage, outcome.output)

    def _end(self, stage: Stage, output: StageOutput | None) -> None:
        """Keeps the result of a computed stage. Where the store does not take it, its files remain
        for the next run, which only records them."""
        try:
            result = self._recorded(stage, output)
        except OSError as error:
            self._fail(stage, f"computed, but not recorded; run again to record it: {error}")
            return
        if result:
            self._keep(result)
            self.backend.workspace.clean(stage.key)
        else:
            self._fail(stage, "another process computed it but did not record it; run again")

    def _may_resume(self, key: str) -> bool:
        """Whether a lost stage runs again: once, and after that as long as each attempt comes
        further than those before, as with time limits shorter than the stage."""
        share, before = share_done(self.backend.progress(key)), self.lost.get(key)
        self.lost[key] = share if before is None else max(share, before)
        return before is None or share >= before + LEAST_PROGRESS

    def _recorded(self, stage: Stage, output: StageOutput | None) -> StageResult | None:
        """The stored result of a stage, recorded now unless another process did so first."""
        with lease(self.store.root / RECORDING):
            result = self.store.find(stage.key)
            if result is None and output is not None:
                result = self.store.record(
                    stage.key,
                    stage.kind,
                    stage.label,
                    {**stage.spec, "parents": stage.parents},
                    {**output.metrics, PLANNED_FLOPS: stage.flops},
                    self.backend.workspace.output(stage.key),
                    made_with=output.made_with,
                )
                self.execution.computed.append(stage.key)
                self.display.finished(stage, output.metrics)
            elif result:
                self.display.advance(stage)
        return result

    def _fail(self, stage: Stage, reason: str, by_worker: bool = False) -> None:
        """Gives a stage up.

        Args:
            by_worker: whether the worker has kept the reason, with a traceback.
        """
        reason = mask(reason)
        self.backend.workspace.keep_error(stage.key, reason, is_new=not by_worker)
        self.execution.failed[stage.key] = reason
        self.queue.fail(stage.key)
        self.tracker.failed(stage.key)
        self.display.failed(stage, reason)
