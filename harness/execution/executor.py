"""Runs a plan on a backend: schedules stages by their parents, records results, resumes."""

from dataclasses import dataclass, field
from shutil import rmtree

from filelock import FileLock

from harness.execution.backends.backend import Backend, Outcome
from harness.execution.job import StageJob, StageOutput
from harness.execution.priority import scouts
from harness.execution.progress import Display
from harness.execution.time_left import PLANNED_FLOPS
from harness.execution.tracker import Tracker
from harness.experiment.plugins import PluginError
from harness.plan.plan import Plan, Stage
from harness.store.artifacts import Artifact
from harness.store.store import StageResult, Store

POLL_SECONDS = 0.2
"""Longest wait for an outcome between two updates of the display."""


class StagesFailedError(RuntimeError):
    """Stages of a run failed. The others are computed and recorded."""


@dataclass
class Execution:
    """Result of one call of `execute`."""

    finished: dict[str, StageResult] = field(default_factory=dict)
    """Key to result of every finished stage of the plan, whenever it was computed."""
    failed: dict[str, str] = field(default_factory=dict)
    """Key to a one-line reason."""
    computed: list[str] = field(default_factory=list)
    """Keys of the stages computed by this call, in order of completion."""
    problems: list[str] = field(default_factory=list)
    """Views that could not be updated, such as the study's pages in MLflow, with the reasons."""

    def raise_failures(self, plan: Plan) -> None:
        """Raises an error if stages failed.

        Raises:
            StagesFailedError: with a line for each failed stage and its reason.
        """
        if self.failed:
            stages = [(plan.stages[key], reason) for key, reason in self.failed.items()]
            lines = [f"  {stage.kind} {stage.label}: {reason}" for stage, reason in stages]
            total = f"{len(lines)} of {len(plan.stages)} stages failed:"
            raise StagesFailedError("\n".join([total, *lines]))


def execute(plan: Plan, store: Store, backend: Backend, display: Display) -> Execution:
    """Computes the results that the store lacks, with the stages they depend on.

    A failed stage does not stop the others; stages that depend on it are skipped. The backend is
    closed after the last stage.
    """
    execution = Execution(finished=store.finished(plan.stages))
    tracker = Tracker(plan, store, backend.workspace)
    for result in execution.finished.values():
        tracker.finished(result)
    todo = plan.to_compute(execution.finished)
    display.begin(todo, backend.capacity)
    if todo:
        for key in execution.finished:  # a kill between recording and cleaning leaves files
            backend.workspace.clean(key)
        with tracker:
            keys = [stage.key for stage in todo]
            _Loop(plan, store, backend, execution, keys, display, tracker).run()
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
    """Submits ready stages and records ended ones until no stage is left or ready."""

    plan: Plan
    store: Store
    backend: Backend
    execution: Execution
    waiting: list[str]
    display: Display
    tracker: Tracker
    running: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    verified: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Runs to the end and closes the backend."""
        try:
            while self.waiting or self.running:
                while len(self.running) < self.backend.capacity and (key := self._next_ready()):
                    self.running.add(key)
                    self.tracker.running(key)
                    self.display.submitted(key)
                    self.backend.workspace.forget_progress(key)
                    self.backend.submit(self._job(key))
                if not self.running:
                    break
                outcomes = self.backend.wait(POLL_SECONDS)
                self.display.tick({key: self.backend.progress(key) for key in self.running})
                for outcome in outcomes:
                    self.running.discard(outcome.key)
                    self._handle(outcome)
        finally:
            self.backend.close()

    def _next_ready(self) -> str | None:
        """The most expensive stage whose parents are finished and whose input files are intact; one
        on the way to a kind that never ran goes first, so that the time left is known soon. Parents
        found damaged are among the waiting stages again."""
        stages, first = self.plan.stages, self._scouts()
        number = len(self.waiting)
        ready = filter(self._parents_finished, self.waiting)

        def order(key: str) -> tuple[bool, float]:
            is_scout, flops = key in first, stages[key].flops
            return not is_scout, flops if is_scout else -flops

        for key in sorted(ready, key=order):
            if self._parents_intact(key):
                self.waiting.remove(key)
                return key
        return self._next_ready() if len(self.waiting) > number else None

    def _scouts(self) -> set[str]:
        """The stages that make the duration of kinds known that never ran and do not run now."""
        stages, known = self.plan.stages, self.display.durations
        unknown = {stages[key].kind for key in self.waiting if stages[key].flops}
        unknown -= {stages[key].kind for key in self.running if stages[key].flops}
        unknown = {kind for kind in unknown if not known.knows(kind)}
        return scouts(stages, {*self.waiting, *self.running}, unknown) if unknown else set()

    def _parents_finished(self, key: str) -> bool:
        parents = self.plan.stages[key].parents.values()
        return all(parent in self.execution.finished for parent in parents)

    def _parents_intact(self, key: str) -> bool:
        """Verifies the input files of a stage; a damaged parent is computed again."""
        for parent in self.plan.stages[key].parents.values():
            if parent not in self.execution.finished:  # found damaged for another stage just now
                return False
            if parent not in self.verified:
                if self.store.fetch(self.execution.finished[parent]) is None:
                    self.store.forget(self.execution.finished.pop(parent))
                    self.waiting.insert(0, parent)
                    return False
                self.verified.add(parent)
        return True

    def _job(self, key: str) -> StageJob:
        stage, workspace = self.plan.stages[key], self.backend.workspace
        if workspace.result(key).exists() and not workspace.output(key).exists():
            rmtree(workspace.folder(key))  # finished once, but no longer in the store
        finished = self.execution.finished
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
        if outcome.lost and outcome.key not in self.retried:
            self.retried.add(outcome.key)
            self.waiting.insert(0, outcome.key)
        elif error is not None:
            kind = "" if isinstance(error, PluginError) else f"{type(error).__name__}: "
            self._fail(stage, f"{kind}{error}")
        elif result := self._recorded(stage, outcome.output):
            self.execution.finished[stage.key] = result
            self.tracker.finished(result)
            self.backend.workspace.clean(stage.key)
        else:
            self._fail(stage, "another process computed it but did not record it; run again")

    def _recorded(self, stage: Stage, output: StageOutput | None) -> StageResult | None:
        """The stored result of a stage, recorded now unless another process did so first."""
        with FileLock(self.store.root / "record.lock"):
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

    def _fail(self, stage: Stage, reason: str) -> None:
        self.execution.failed[stage.key] = reason
        self.tracker.failed(stage.key)
        self.display.failed(stage, reason)
