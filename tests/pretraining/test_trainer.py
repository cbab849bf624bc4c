"""The Lightning trainer that pretraining and fine-tuning share."""

import pytest
from pytorch_lightning.plugins.environments import LightningEnvironment, SLURMEnvironment

from harness.core.compute import Compute
from harness.core.errors import MemberError
from harness.pretraining.trainer import CALLBACKS, make_trainer


def test_a_job_of_slurm_with_several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning's own environment refuses it, though each task is a run of its own."""
    monkeypatch.setenv("SLURM_NTASKS", "2")
    monkeypatch.setenv("SLURM_JOB_NAME", "work")
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE", raising=False)
    assert SLURMEnvironment.detect()
    with pytest.raises(RuntimeError, match="ntasks"):
        SLURMEnvironment()
    trainer = make_trainer(compute=Compute(accelerator="cpu"))
    environment = trainer._accelerator_connector.cluster_environment
    assert isinstance(environment, LightningEnvironment)


def test_a_callback_of_a_plug_in_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CALLBACKS, "own", lambda: 5)
    with pytest.raises(MemberError, match="the callback 'own' must be a Lightning callback, not"):
        make_trainer(compute=Compute())
