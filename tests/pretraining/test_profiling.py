"""A short part of a run: its parts, its operators, and that profilers change no result."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pytorch_lightning.profilers import Profiler
from torch import nn

from harness.core.compute import DEFAULT_COMPUTE
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.models import Architecture, Size
from harness.plan.costs import pretraining_cost
from harness.pretraining import short_run
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.profilers import PARTS, PartDurations, PartLabels
from harness.pretraining.profiling import TRACED, measure, operators
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import fit, flops_per_token, make_feed, make_module, pretrain
from harness.pretraining.schedule import Schedule
from harness.pretraining.short_run import WARMUP, ShortRun
from tests.token_streams import write_streams

SPEC = Pretrain(
    model=Architecture(max_position=64),
    size=Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32),
    phases=(Phase(fraction=1, sequence_length=32),),
    batch_size=4,
    budget=Budget(steps=8),
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of a tokenizer and of tokens."""
    folder = tmp_path_factory.mktemp("data")
    documents = [[f"a{word} b{word} c{word}"] * 6 for word in range(100)]
    train(Tokenizer(vocab_size=64), (text for one in documents for text in one), folder / "words")
    write_streams(documents, folder / "words", folder / "tokens", 0.1)
    return {"tokenizer": folder / "words", "tokens": folder / "tokens"}


@pytest.fixture
def run(inputs: dict[str, Path], tmp_path: Path) -> ShortRun:
    return ShortRun(SPEC, inputs, 0, DEFAULT_COMPUTE, tmp_path)


def test_parts_sum_to_an_update(run: ShortRun) -> None:
    reports: list[tuple[int, int]] = []
    found = measure(run, 6, lambda done, total: reports.append((done, total)))
    assert list(found.seconds) == [*PARTS.values(), "framework"]
    assert min(found.seconds.values()) >= 0
    tokens = found.tokens_per_second * sum(found.seconds.values())
    assert tokens == pytest.approx(SPEC.batch_size * 32, rel=0.1)  # whole sequences
    assert reports[0] == (1, WARMUP + 6) and reports[-1] == (WARMUP + 6, WARMUP + 6)
    assert (WARMUP, WARMUP + 6) in reports
    assert min(found.start, found.evaluation, found.checkpoint, found.saving) >= 0


def test_flops_per_token_are_those_of_the_plan(run: ShortRun, inputs: dict[str, Path]) -> None:
    """With the entries that the tokenizer has learned."""
    cost = pretraining_cost(SPEC, Vocabulary.load(inputs["tokenizer"]).size)
    assert cost.flops and cost.tokens
    found = measure(run, 1, lambda done, total: None)
    assert found.flops_per_token == pytest.approx(cost.flops / cost.tokens)


def test_a_warmup_may_be_longer_than_the_measured_updates(run: ShortRun) -> None:
    slow = SPEC.model_copy(update={"schedule": Schedule(warmup_steps=1_000)})
    measure(replace(run, spec=slow), 1, lambda done, total: None)


def test_of_a_checkpoint_the_weights_count() -> None:
    """A forward and a backward pass take 6 FLOPs per weight and token (Kaplan et al. 2020)."""
    learner = SimpleNamespace(backbone=nn.Linear(3, 4))
    spec = SimpleNamespace(model=Architecture(family="checkpoint"))
    module: Any = SimpleNamespace(learner=learner, spec=spec)
    assert flops_per_token(module, 0) == 6 * (3 * 4 + 4)


def test_a_run_records_its_flops_per_second(inputs: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    figures = pretrain(SPEC, inputs["tokens"], inputs["tokenizer"], tmp_path / "out", tmp_path, 0)
    cost = pretraining_cost(SPEC, Vocabulary.load(inputs["tokenizer"]).size)
    assert cost.flops and cost.tokens
    per_token = cost.flops / cost.tokens
    tokens_per_second = figures["tokens"] / figures["seconds"]
    assert figures["flops_per_second"] == pytest.approx(tokens_per_second * per_token)


@pytest.mark.parametrize("profiler", [PartDurations, PartLabels])
def test_profilers_change_no_weight(
    profiler: type[Profiler], inputs: dict[str, Path], tmp_path: Path
) -> None:
    vocabulary = Vocabulary.load(inputs["tokenizer"])
    states = []
    for one in (None, profiler()):
        module = make_module(SPEC, vocabulary, 0, {}, 8)
        feed = make_feed(module, inputs["tokens"] / "train", vocabulary, 8_192)
        fit(module, feed, tmp_path / "none", DEFAULT_COMPUTE, profiler=one)
        states.append(module.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_operators_and_their_trace(run: ShortRun, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    found = operators(run, lambda done, total: None, path)
    assert math.isclose(sum(one.share for one in found), 1)
    seconds = [one.seconds for one in found]
    assert seconds == sorted(seconds, reverse=True) and seconds[-1] >= 0
    calls = {one.name: one.calls for one in found}
    assert calls["aten::_fused_adamw_"] == int(calls["aten::_fused_adamw_"])
    assert not calls.keys() & set(PARTS.values())
    events = json.loads(path.read_text())["traceEvents"]
    labels = [one["name"] for one in events if one.get("cat") == "user_annotation"]
    assert labels.count("forward") == labels.count("optimiser") == TRACED


def test_too_little_memory_is_one_line(run: ShortRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(short_run, "fit", fail)
    with pytest.raises(ValueError, match=r"but is 8192; set it to 4096"):
        measure(run, 1, lambda done, total: None)
