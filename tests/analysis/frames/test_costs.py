"""Costs of stages, and the protocol of an experiment."""

from pathlib import Path
from typing import Any

from harness import load
from harness.analysis.frames.costs import costs_frame
from harness.plan.protocol import protocol_of

STUDY = """
name: taught
question: Does a teacher help?
pretrain:
  size: nano
  packing: {format: full_sentences}
  objective: mlm
  budget: {steps: 5}
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


def test_the_protocol_names_arms_that_are_fine_tuned_otherwise(tmp_path: Path) -> None:
    protocol = protocol_of(study(tmp_path).plan)
    assert protocol["adaptation"] == "differs by arm (full unless stated)"
    assert protocol["except taught"] == "adaptation frozen, finetune.learning_rate 0.005"
    assert "except alone" not in protocol
