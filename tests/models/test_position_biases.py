"""Position biases in the order of memory that fused attention on GPUs takes, with equal results."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.t5.modeling_t5 import T5Attention

from benchmarks.pretraining_workloads import Shape, Workload
from harness.core.compute import Compute
from harness.models import position_biases
from harness.models.layers import compiled_layers
from harness.models.position_biases import put_heads_first
from harness.pretraining import trainer
from harness.pretraining.trainer import choose_kernels

COMPUTE = Compute()


def workload(objective: str = "span_corruption") -> Workload:
    shape = Shape(objective, "t5", "nano", batch_size=3, sequence_length=32, vocab_size=500)
    return Workload(shape, steps=2)


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_biases, "_has_fused_kernels", lambda _: True)


def biases(model: nn.Module) -> list[Tensor]:
    """[1, A, T, S] of each stack."""
    found = [part for part in model.modules() if isinstance(part, T5Attention)]
    return [part.compute_bias(5, 7) for part in found if part.has_relative_attention_bias]


def results(learner: nn.Module, part: dict[str, Tensor]) -> list[Tensor]:
    """The loss and the gradients."""
    torch.manual_seed(0)
    learner.zero_grad()
    loss = learner(part)[0]["token"]
    loss.backward()
    return [loss, *(one.grad for one in learner.parameters() if one.grad is not None)]


@pytest.mark.parametrize("on_gpu", [True, False])
def test_they_are_contiguous_on_gpus(monkeypatch: pytest.MonkeyPatch, on_gpu: bool) -> None:
    monkeypatch.setattr(trainer, "uses_gpus", lambda _: on_gpu)
    learner = workload().learner()
    before = biases(learner)
    choose_kernels(learner, COMPUTE)
    after = biases(learner)
    assert len(before) == len(after) == 2
    for first, second in zip(before, after, strict=True):
        assert torch.equal(first, second)
        assert first.stride(-1) == 2 and second.is_contiguous() == on_gpu


OBJECTIVES = ["span_corruption", "iid_corruption", "prefix_lm", "mlm"]


@pytest.mark.parametrize(
    ("objective", "compiled"),
    [*((name, False) for name in OBJECTIVES), ("span_corruption", True)],  # compiling takes seconds
)
def test_results_are_equal(monkeypatch: pytest.MonkeyPatch, objective: str, compiled: bool) -> None:
    """Also of copies, as of sharded networks."""
    work = workload(objective)
    learner, part = work.learner().train(), work.step(0).parts[0]
    expected = results(learner, part)
    put_heads_first(learner)
    changed: Any = deepcopy(learner)
    if compiled:
        torch._dynamo.reset()
        compile_ = nn.Module.compile
        monkeypatch.setattr(nn.Module, "compile", lambda self: compile_(self, backend="aot_eager"))
        with compiled_layers(changed):
            found = results(changed, part)
    else:
        found = results(changed, part)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)
        assert compiled or torch.equal(one, other)


def test_only_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    learner = workload().learner()
    put_heads_first(learner)
    assert all(found.stride(-1) == 2 for found in biases(learner))
    assert all(found.is_contiguous() for found in biases(learner.to("meta")))
