"""Stages computed in this process, without a store."""

from pathlib import Path
from typing import Any

from harness.analysis.results import Results
from harness.core.compute import Compute
from harness.execution.job import StageJob, Workspace
from harness.execution.worker import run_stage
from harness.plan.plan import Plan
from harness.store.artifacts import Artifact
from harness.store.store import StageResult


class StageRunner:
    """Computes stages of plans; equal keys are computed once."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.finished: dict[str, StageResult] = {}

    def out(self, key: str) -> Path:
        """Folder of a stage's files."""
        return self.workspace.output(key)

    def run(self, plan: Plan) -> None:
        """Computes all stages of a plan."""
        for key in plan.stages:
            self.make(plan, key)

    def make(self, plan: Plan, key: str) -> Any:
        """Metrics of a stage, computed after its parents."""
        if key not in self.finished:
            stage = plan.stages[key]
            for parent in stage.parents.values():
                self.make(plan, parent)
            inputs = {
                role: Artifact(self.out(parent).as_uri(), "")
                for role, parent in stage.parents.items()
            }
            job = StageJob(stage.kind, key, stage.spec, inputs, Compute())
            output = run_stage(job, self.workspace)
            assert output
            metrics = {name: value for name, value in output.metrics.items() if value is not None}
            self.finished[key] = StageResult(key, stage.kind, stage.label, metrics, "", "")
        return self.finished[key].metrics

    def results(self, plan: Plan) -> Results:
        """Results over the computed stages."""
        return _Computed(plan, self)


class _Computed(Results):
    def __init__(self, plan: Plan, runner: StageRunner) -> None:
        super().__init__(plan, store=None)  # type: ignore[arg-type]
        self.runner = runner
        self.__dict__["finished"] = runner.finished

    def files(self, key: str) -> Path:
        return self.runner.out(key)
