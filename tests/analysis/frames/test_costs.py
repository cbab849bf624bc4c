"""Costs of stages, and the protocol of an experiment."""

from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.analysis.frames.costs import _flops, costs_frame, pretraining_flops
from harness.plan.protocol import protocol_of

PRETRAIN = """pretrain:
  size: nano
  packing: {format: full_sentences}
  objective: mlm
  budget: {steps: 5}"""
STUDY = (
    PRETRAIN
    + """
name: taught
question: Does a teacher help?
grid:
  arm:
    alone: {}
    taught:
      pretrain.objective.distillation: {cosine_weight: 1}
      pretrain.teacher: {recipe: roberta, size: nano, budget: {steps: 9}}
      evaluate.adaptation: frozen
      evaluate.finetune.learning_rate: 5e-3
evaluate: {tasks: [micro-rte]}
"""
)


def study(tmp_path: Path) -> Any:
    file = tmp_path / "taught.yaml"
    file.write_text(STUDY)
    return load(file, store=tmp_path / "store")


def test_the_cost_of_a_teacher_has_a_row(tmp_path: Path) -> None:
    costs = costs_frame(study(tmp_path).results).set_index("arm")
    pretraining = costs[costs["stage"] == "pretrain"]
    assert list(pretraining.index) == ["alone", "taught", "teacher of taught"]
    tokens = pretraining["tokens"].astype(float)
    assert tokens["teacher of taught"] == 9 * 512  # tokens per update of a small network


NESTED = (
    PRETRAIN
    + """
name: nested
question: Does a long start help?
grid:
  arm:
    two: {pretrain.init_from: {budget: {steps: 7}}}
    three: {pretrain.init_from: {budget: {steps: 7}, init_from: {budget: {steps: 700}}}}
evaluate: {tasks: [micro-rte]}
"""
)


def test_runs_that_a_start_builds_on_count(tmp_path: Path) -> None:
    file = tmp_path / "nested.yaml"
    file.write_text(NESTED)
    results = load(file, store=tmp_path / "store").results
    costs = costs_frame(results).set_index("arm")
    tokens = costs["tokens"].dropna().astype(float) / 512
    assert tokens.to_dict() == {
        "two": 5, "init_from of two": 7,
        "three": 5, "init_from of three": 7, "init_from of init_from of three": 700,
    }  # fmt: skip
    flops = costs["flops"].dropna().astype(float)
    found = pretraining_flops(results)
    assert found["two"] == flops["two"] + flops["init_from of two"]
    names = [name for name in flops.index if name.endswith("three")]
    assert (
        found["three"] == pytest.approx(flops[names].sum()) and found["three"] > 50 * found["two"]
    )
    stages = results.plan.stages.values()
    spent = _flops(results.plan)
    trained = [spent[one.key] for one in stages if one.kind == "pretrain"]
    assert sum(trained) == pytest.approx(found["three"] + found["two"])


def test_the_protocol_names_arms_that_are_fine_tuned_otherwise(tmp_path: Path) -> None:
    protocol = protocol_of(study(tmp_path).plan)
    assert protocol["adaptation"] == "differs by arm (full unless stated)"
    assert protocol["except taught"] == "adaptation frozen, finetune.learning_rate 0.005"
    assert "except alone" not in protocol
