"""Pretraining on two nodes of a cluster trains what one node trains. Ray's nodes are on this
machine, and SLURM's are two tasks of one job on it."""

import re
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from harness.execution.backends import slurm
from harness.execution.backends.ray_tasks import RayBackend
from harness.execution.job import StageJob, Workspace
from harness.study import Study
from tests.execution.backends.test_ray_tasks import SMALLER
from tests.execution.test_nodes import JOB

ONE_DEVICE = (*SMALLER, "pretrain.model.dropout=0", "compute.accelerator=cpu")
"""Changes of `smoke`, after which rounding is all that depends on the number of nodes."""
Figures = dict[str, float]


def pretrained(store: Path, num_nodes: int, executor: str, address: str | None = None) -> Figures:
    """Arm to held-out loss after a run on so many nodes."""
    changes = (*ONE_DEVICE, f"compute.num_nodes={num_nodes}")
    study = Study.load("smoke", changes, store)
    study.run(jobs=1, executor=executor, address=address)
    found = study.store.finished(study.plan.stages)
    losses = {
        study.plan.stages[key].label: one.metrics.get("validation_loss")
        for key, one in found.items()
        if one.kind == "pretrain"
    }
    assert not list(store.glob("work/*/state/nodes-*"))
    return {label: loss for label, loss in losses.items() if loss is not None}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return pretrained(tmp_path_factory.mktemp("one"), 1, "processes")


@pytest.mark.campaign
def test_ray(cluster: Cluster, expected: Figures, tmp_path: Path) -> None:
    found = pretrained(tmp_path, 2, "ray", cluster.address)
    assert len(found) > 1 and found == pytest.approx(expected, rel=1e-4)


@pytest.mark.campaign
def test_slurm(expected: Figures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_tasks(job: StageJob) -> dict[str, Any]:
        found = declared(job)
        found["tasks_per_node"] = found.pop("nodes", 1)
        return found

    declared = slurm.parameters
    monkeypatch.setattr(slurm.SlurmBackend, "cluster", "local")
    monkeypatch.setattr(slurm, "parameters", with_tasks)
    found = pretrained(tmp_path, 2, "slurm")
    assert len(found) > 1 and found == pytest.approx(expected, rel=1e-4)


def test_slurm_is_asked_for_nodes() -> None:
    asked = slurm.parameters(JOB)
    assert (asked["nodes"], asked["tasks_per_node"]) == (2, 1)
    assert "nodes" not in slurm.parameters(StageJob("finetune", "key", {}, {}, JOB.compute))


def test_a_cluster_with_too_few_nodes(
    local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = RayBackend(Workspace(tmp_path))
    with pytest.raises(ValueError, match=re.escape("must have 2 nodes (compute.num_nodes)")):
        backend.submit(JOB)
