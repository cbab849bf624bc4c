"""Layers compiled by themselves: which graphs there are, when it pays, and without a compiler."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import masking_utils

from benchmarks.pretraining_workloads import Shape, Workload
from harness.core.compute import Compute
from harness.pretraining import compilation
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives.loader import Feed
from harness.pretraining.run import fit

NANO = {"size": "nano", "batch_size": 2, "sequence_length": 16, "vocab_size": 500}
PREDICTING = [("mlm", "bert"), ("clm", "gpt2"), ("clm", "llama"), ("span_corruption", "t5")]


def workload(objective: str = "mlm", family: str = "bert", **changes: Any) -> Workload:
    return Workload(Shape(objective, family, **{**NANO, **changes}), steps=2)


def trained(work: Workload, folder: Path, compute: Compute) -> PretrainingModule:
    module = PretrainingModule(work.learner(), work.spec, work.steps, seed=0)
    fit(module, Feed(work.step, work.steps), folder / "last.ckpt", compute)
    return module


Backend = Callable[..., Any]


def compile_by(monkeypatch: pytest.MonkeyPatch, backend: Backend) -> None:
    """Has torch compile by a backend, and forget what it has compiled."""
    torch._dynamo.reset()
    compile_ = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda self: compile_(self, backend=backend))


@pytest.mark.parametrize(("objective", "family"), PREDICTING)
def test_equal_layers_share_a_graph_without_a_mask_of_causal_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str, family: str
) -> None:
    graphs: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Backend:
        graphs.append(graph.code)
        return graph.forward

    compile_by(monkeypatch, backend)
    work = workload(objective, family)
    module = trained(work, tmp_path, Compute(compile=True))
    assert module.figures()["compiled"] == 1.0
    # T5 has two stacks, whose first layers have the position biases of all.
    assert len(graphs) == (4 if family == "t5" else 1)
    for code in graphs if objective == "clm" else ():
        assert "attn_mask = None" in code and "is_causal = True" in code
    assert not any("embedding(" in code for code in graphs if family != "t5")
    layers = [layer for layer in module.modules() if layer._compiled_call_impl is not None]
    assert not layers  # those of the validation after it are not compiled again


def test_the_whole_copy_of_a_sharded_module_was_compiled_as_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its figures are those of the run."""
    compile_by(monkeypatch, lambda graph, _: graph.forward)
    work = workload()
    module = trained(work, tmp_path, Compute(compile=True))
    module.unsharded = (PretrainingModule(work.learner(), work.spec, work.steps, seed=0),)
    assert module.whole().figures() == module.figures()


def test_a_process_compiles_the_networks_of_many_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Backend:
        graphs.append(graph)
        return graph.forward

    compile_by(monkeypatch, backend)
    known = 0
    for number, (objective, family) in enumerate([*PREDICTING[::-1], ("mlm", "modernbert")]):
        trained(workload(objective, family), tmp_path / str(number), Compute(compile=True))
        assert len(graphs) > known, family
        known = len(graphs)
    assert known > 8  # torch's limit for each function, which the layers share


def test_auto_runs_layers_as_they_are_where_they_cannot_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Backend:
        raise RuntimeError("no compiler")

    compile_by(monkeypatch, fails)
    monkeypatch.setattr(compilation, "pays", lambda *_: True)
    plain = trained(workload(), tmp_path / "plain", Compute(compile=False)).curve
    assert trained(workload(), tmp_path / "auto", Compute()).curve == plain
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no compiler"):
        trained(workload(), tmp_path / "true", Compute(compile=True))


def test_it_pays_for_long_runs_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    work = workload()
    module = PretrainingModule(work.learner(), work.spec, 2, seed=0)
    weights = sum(weight.numel() for weight in module.learner.parameters())
    enough = 1 + int(1e17 / (6 * weights * 2 * 16))
    for has_gpu, steps, strategy, expected in (
        (True, enough, "auto", True),
        (True, enough, "fsdp", False),
        (True, enough - 2, "auto", False),
        (False, enough, "auto", False),
    ):
        monkeypatch.setattr(compilation, "uses_gpus", lambda _, found=has_gpu: found)
        module.num_steps = steps
        assert compilation.pays(module, Compute(strategy=strategy)) is expected


def test_transformers_looks_for_sequences_and_padding_only_outside_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = torch.tensor([[0, 1, 0, 1]])
    found: list[Any] = []
    work = workload("clm", "gpt2")
    monkeypatch.setattr(
        PretrainingModule,
        "check_loss",
        lambda self: found.extend(
            [
                masking_utils.find_packed_sequence_indices(positions),
                masking_utils._ignore_bidirectional_mask_sdpa(positions.to("meta"), 4),
            ]
        ),
    )
    trained(work, tmp_path / "whole", Compute())
    assert found == [None, False] * 2
    assert masking_utils.find_packed_sequence_indices(positions) is not None

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PretrainingModule, "check_loss", stop)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        trained(work, tmp_path / "stopped", Compute())
    assert masking_utils.find_packed_sequence_indices(positions) is not None
