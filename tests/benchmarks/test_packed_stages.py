"""Stages of a study beside each other: which, and in which order."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import packed_stages
from harness.execution.backends.backend import Backend, Outcome
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.study import Study

OVERRIDES = ("seeds.pretrain=1", "sweep.pretrain=null", "pretrain.budget.flops=1e9")


class OneByOne(Backend):
    """Ends one stage at each wait; of the stage `fails`, without an output."""

    def __init__(self, workspace: Workspace, fails: str = "") -> None:
        super().__init__(workspace)
        self.capacity, self.fails = 3, fails
        self.running: list[str] = []
        self.order: list[str] = []
        self.most = 0

    def submit(self, job: StageJob) -> None:
        self.running.append(job.key)
        self.order.append(job.key)
        self.most = max(self.most, len(self.running))

    def wait(self, seconds: float) -> Sequence[Outcome]:
        key = self.running.pop(0)
        if key == self.fails:
            return [Outcome(key, error=ValueError("too long"))]
        return [Outcome(key, StageOutput({}, ""))]

    def cancel(self, key: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


def test_arms_are_pretrained_with_their_teachers_first(tmp_path: Path) -> None:
    plan = Study.load("paradigms", OVERRIDES, tmp_path).plan
    stages = packed_stages.pretraining_stages(plan, ["skipgram", "glove"])
    assert len(stages) == 35
    assert not {"skipgram", "glove", "scratch"} & {stage.label.split(",")[0] for stage in stages}
    workspace = Workspace(tmp_path)
    jobs = packed_stages.make_jobs(stages, workspace, plan.experiment.compute)
    keys = {stage.key for stage in stages}
    parents = {stage.key: set(stage.parents.values()) & keys for stage in stages}
    assert any(parents.values())  # teachers
    backend = OneByOne(workspace)
    assert packed_stages.compute_all(backend, jobs, parents).keys() == keys
    assert backend.most == 3
    place = {key: number for number, key in enumerate(backend.order)}
    assert all(place[one] < place[key] for key, before in parents.items() for one in before)
    with pytest.raises(RuntimeError, match="failed"):
        packed_stages.compute_all(OneByOne(workspace, jobs[5].key), jobs, parents)
