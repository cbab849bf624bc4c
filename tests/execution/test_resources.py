"""What a stage takes of a node, as declared."""

from typing import get_args

import pytest
import torch

from harness.core.compute import Compute, Resources, StageKind, StageResources
from harness.execution.job import StageJob
from harness.execution.worker import _bound_gpu_memory
from harness.plan.stage_kinds import STAGE_KINDS


def test_the_kinds_are_those_of_stages() -> None:
    assert get_args(StageKind) == tuple(STAGE_KINDS)


def test_a_kind_takes_what_all_kinds_take_unless_it_says_otherwise() -> None:
    own = {"pretrain": {"gpus": 1, "custom": {"disk": 2}}}
    common = {"gpus": 0.5, "minutes": 30, "custom": {"tape": 1}}
    declared = StageResources.read({**common, "kinds": own})
    custom = {"tape": 1, "disk": 2}
    assert declared.of("pretrain") == Resources(gpus=1, minutes=30, custom=custom)
    assert declared.of("finetune") == Resources.read(common)
    assert StageResources().of("pretrain") == Resources()


@pytest.mark.parametrize("gpus", [1.5, 2.0])
def test_a_stage_takes_its_devices_or_a_part_of_one(gpus: float) -> None:
    with pytest.raises(ValueError, match=f"must be 0 or 1, .* but is {gpus:g}"):
        Compute(resources=StageResources(gpus=gpus))
    for possible in (0, 0.25, 1):
        assert Compute(resources=StageResources(gpus=possible)).resources.gpus == possible


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (StageResources(), []),
        (StageResources(gpus=1), []),
        (StageResources(gpus=0.25), [0.25]),
        (StageResources(gpus=0.25, kinds={"pretrain": Resources(gpus=1)}), [1.0]),
        (StageResources(kinds={"finetune": Resources(gpus=0.5)}), [1.0]),
    ],
)
def test_a_part_of_a_gpu_has_a_part_of_its_memory(
    resources: StageResources, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that has shared a GPU may have it alone for the next stage."""
    fractions: list[float] = []
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", fractions.append)
    job = StageJob("pretrain", "k", {}, {}, Compute(resources=resources))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    _bound_gpu_memory(job)
    assert not fractions
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    _bound_gpu_memory(job)
    assert fractions == expected


@pytest.mark.parametrize(
    ("gpus", "kinds", "largest", "shares"),
    [
        (None, {}, 1, False),
        (0.25, {}, 0.25, True),
        (0.25, {"probe": 0.5}, 0.5, True),
        (None, {"probe": 0.5}, 1, True),
        (1, {"probe": 0}, 1, False),
    ],
)
def test_a_gpu_is_shared_by_as_many_stages_as_the_largest_leaves_room_for(
    gpus: float | None, kinds: dict[str, float], largest: float, shares: bool
) -> None:
    named = {kind: {"gpus": part} for kind, part in kinds.items()}
    declared = StageResources.read({"gpus": gpus, "kinds": named})
    assert (declared.largest_gpu_share, declared.shares_gpus) == (largest, shares)


def test_only_a_stage_of_one_device_takes_a_part_of_it_and_none_on_a_cpu() -> None:
    half = StageResources(gpus=0.5)
    with pytest.raises(ValueError, match=r"must be 0 or 2, the devices of a stage, but is 0\.5"):
        Compute(devices=2, resources=half)
    with pytest.raises(ValueError, match=r"must be 0 with the accelerator cpu, but is 0\.5"):
        Compute(accelerator="cpu", resources=half)
    assert Compute(accelerator="cpu", resources=StageResources(gpus=0)).accelerator == "cpu"
