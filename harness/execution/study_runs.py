"""A study as people see it in MLflow: an experiment by its name, with a run per arm, and below it a
run per stage that the arm uses.

A view: all of it follows from the plan, the store and the histories of the stages, so it can be
deleted, and what an interrupted process left is completed by the next. Results are never read
from it.
"""

from collections.abc import Mapping
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from filelock import SoftFileLease

from harness.execution.history import final_points, points, read_history
from harness.execution.job import Workspace
from harness.execution.lease import lease
from harness.experiment.arms import Arm
from harness.plan.arm_stages import ArmStage, arm_digest, arm_stages
from harness.plan.keys import without_nulls
from harness.plan.plan import Plan
from harness.plan.stage_kinds import STAGE_KINDS
from harness.store.entries import Point, TrackedRun
from harness.store.store import StageResult, Store

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
"""MLflow's status of a run."""
State = StageResult | str
"""Of a stage: its result, RUNNING or FAILED."""
PARENT, NOTE = "mlflow.parentRunId", "mlflow.note.content"
"""Tags of MLflow's pages: the enclosing run, and a description in markdown."""
DECLARATION, STAGE_RUN = "declaration", "stage_run"
ARM_KIND = "arm"
"""`kind` of the runs of arms; a run of a stage has the kind of the stage."""


class StudyRuns:
    """The runs of one study; a run of a stage is identified by the run of its arm and its key."""

    title = "the study's runs in MLflow"

    def __init__(self, plan: Plan, store: Store, workspace: Workspace) -> None:
        self.plan, self.store, self.workspace = plan, store, workspace
        self.name = plan.experiment.name
        self.stages = arm_stages(plan)
        self.digests = {arm.name: arm_digest(plan, arm) for arm in plan.arms}
        self.sent: dict[str, int] = {}
        """Run id to the number of bytes of its history that it has."""
        self.interrupted = False

    def are_complete(self, finished: Mapping[str, StageResult]) -> bool:
        """Whether all finished stages are shown; does not import mlflow if the store is local.

        Args:
            finished: key to result.
        """
        runs = [run for run in self.store.tracked(self.name) if run.status == FINISHED]
        arms = {run.tags["arm"]: run.run_id for run in runs if self._is_arm(run)}
        shown = {(*_identity(run), run.tags.get(STAGE_RUN)) for run in runs}
        return len(arms) == len(self.digests) and all(
            (arms[one.arm], one.stage.key, finished[one.stage.key].run_id) in shown
            for one in self.stages
            if one.stage.key in finished
        )

    def update(self, states: Mapping[str, State]) -> None:
        """Shows the stages that are running or have ended, with what they have logged so far.

        Args:
            states: key to state.

        Raises:
            Exception: whatever MLflow raises.
        """
        for one in self.stages:
            if one.stage.key in states and not self.interrupted:
                self._update(one, states[one.stage.key])

    def finish(self, states: Mapping[str, State]) -> None:
        """Shows all stages, and ends the runs of the arms with their mean scores.

        Raises:
            Exception: whatever MLflow raises.
        """
        self.update(states)
        finished = {key: one for key, one in states.items() if isinstance(one, StageResult)}
        for arm in self.plan.arms:
            stages = [one.stage for one in self.stages if one.arm == arm.name]
            results = {stage.key for stage in stages if STAGE_KINDS[stage.kind].is_result}
            run_id = self.arms[arm.name]
            self.server.log(run_id, self._mean_scores(arm.name, finished), _settings(arm))
            self.server.set_status(run_id, FINISHED if results <= finished.keys() else FAILED)

    def interrupt(self) -> None:
        """Marks the running runs of this process as killed; the next process continues them.

        Raises:
            Exception: whatever MLflow raises.
        """
        self.interrupted = True  # also in the thread that may still be in `update`
        own = {*self.__dict__.get("arms", {}).values(), *self.sent}
        for run in self.store.tracked(self.name):
            if run.status == RUNNING and run.run_id in own:
                self.server.set_status(run.run_id, KILLED)

    @cached_property
    def server(self) -> "Server":
        """The study's MLflow experiment."""
        return self.store.tracking(self.name)

    @cached_property
    def arms(self) -> dict[str, str]:
        """Arm to the id of its run, which is new if the arm's declaration has changed."""
        with self._lock:
            self.server.restore()
            runs = [run for run in self.store.tracked(self.name) if self._is_arm(run)]
            known = {run.tags["arm"]: run.run_id for run in runs}
            for run_id in known.values():
                self.server.set_status(run_id, RUNNING)
            return {a.name: known.get(a.name) or self._start_arm(a) for a in self.plan.arms}

    @cached_property
    def runs(self) -> dict[tuple[str, str], TrackedRun]:
        """(id of the arm's run, key) to the run of a stage."""
        return {_identity(run): run for run in self.store.tracked(self.name)}

    @property
    def _lock(self) -> SoftFileLease:
        """Held to create a run: two processes with the same experiment create it once."""
        return lease(self.store.root / "tracking.lease")

    def _is_arm(self, run: TrackedRun) -> bool:
        """Whether this is the run of an arm as it is declared now."""
        digest = self.digests.get(run.tags.get("arm", ""))
        return run.tags.get("kind") == ARM_KIND and run.tags.get(DECLARATION) == digest

    def _start_arm(self, arm: Arm) -> str:
        tags = {"experiment": self.name, "arm": arm.name, "kind": ARM_KIND}
        tags |= {DECLARATION: self.digests[arm.name], NOTE: self.plan.experiment.question}
        run_id = self.server.start(arm.name, tags)
        self.server.log(run_id, params=_settings(arm))
        return run_id

    def _update(self, one: ArmStage, state: State) -> None:
        """Creates or continues the run of a stage, and ends it if the stage has ended."""
        result = state if isinstance(state, StageResult) else None
        run = self._run_of(one, result)
        if run.status == FINISHED:
            return
        lines = read_history(one.stage.key, result, self.workspace)
        new = points(lines[self.sent.get(run.run_id, 0) :])
        tags: dict[str, str] = {}
        if result:
            new += final_points(result, {point.name for point in points(lines)})
            tags = {STAGE_RUN: result.run_id, NOTE: f"[Files]({self.store.page(result)}/artifacts)"}
        params = {} if run.run_id in self.sent else one.stage.spec
        self.server.log(run.run_id, new, params, tags)
        self.sent[run.run_id] = len(lines)
        status = FINISHED if result else str(state)
        if status != run.status:
            self.server.set_status(run.run_id, status, result.recorded if result else None)
            self.runs[_identity(run)] = TrackedRun(run.run_id, status, {**run.tags, **tags})

    def _run_of(self, one: ArmStage, result: StageResult | None) -> TrackedRun:
        """The run of a stage; a new one if there is none, or only that of a lost result."""
        identity = (self.arms[one.arm], one.stage.key)
        run = self.runs.get(identity)
        if (
            run
            and run.status == FINISHED
            and (result is None or run.tags.get(STAGE_RUN) != result.run_id)
        ):
            self.server.delete(run.run_id)
            run = None
        if run is None:
            with self._lock:
                others = map(_identity, found := self.server.runs(f"tags.key = '{identity[1]}'"))
                known = dict(zip(others, found, strict=True))
                run = known.get(identity) or self._start(one, result)
            self.runs[identity] = run
        return run

    def _start(self, one: ArmStage, result: StageResult | None) -> TrackedRun:
        """A new run below that of the arm; of a stage that has ended, with its time."""
        tags = {"experiment": self.name, "arm": one.arm, **one.tags}
        tags |= {DECLARATION: self.digests[one.arm], PARENT: self.arms[one.arm]}
        seconds = result.metrics.get("seconds", 0.0) if result else 0.0
        begin = result.recorded - int(1000 * seconds) if result else None
        name = f"{one.stage.kind}: {one.stage.label}"
        return TrackedRun(self.server.start(name, tags, begin), RUNNING, tags)

    def _mean_scores(self, arm: str, finished: Mapping[str, StageResult]) -> list[Point]:
        """The mean over runs of each score and held-out loss of an arm; the step is the number of
        runs."""
        found: dict[str, list[float]] = {}
        for run in self.plan.finetune_runs:
            if run.arm == arm and run.pretrain_fraction == 1 and run.key in finished:
                for name, value in finished[run.key].metrics.items():
                    if "/" in name:
                        found.setdefault(f"{run.task}/{name}", []).append(value)
        for (name_of_arm, _), key in self.plan.pretrain_keys.items():
            if name_of_arm == arm and key in finished:
                for name, value in finished[key].metrics.items():
                    if name.startswith("validation_"):
                        found.setdefault(name, []).append(value)
        time = max((finished[key].recorded for key in finished), default=0)
        return [Point(name, fmean(own), time, len(own)) for name, own in found.items()]


def _identity(run: TrackedRun) -> tuple[str, str]:
    return run.tags.get(PARENT, ""), run.tags.get("key", "")


def _settings(arm: Arm) -> dict[str, Any]:
    parts = {"pretrain": arm.pretrain, "evaluate": arm.evaluate}
    return {name: without_nulls(part.model_dump(mode="json")) for name, part in parts.items()}
