"""What the report says of cost and protocol, and what it reads of the stages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from harness import load
from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.stage_files import counts_reader
from harness.store.store import Store
from harness.tasks.scores import save_counts

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
    costs = costs_frame(study(tmp_path).plan, {}).set_index("arm")
    pretraining = costs[costs["stage"] == "pretrain"]
    assert list(pretraining.index) == ["alone", "taught", "teacher of taught"]
    tokens = pretraining["tokens"].astype(float)
    assert tokens["teacher of taught"] == 9 * 8192 * 512  # RoBERTa's batch and length


def test_the_protocol_names_arms_that_are_fine_tuned_otherwise(tmp_path: Path) -> None:
    protocol = study(tmp_path).protocol
    assert protocol["adaptation"] == "full"
    assert protocol["but for taught"] == "adaptation frozen, finetune.learning_rate 0.005"
    assert "but for alone" not in protocol


def test_counts_are_read_from_the_files_of_a_stage(tmp_path: Path) -> None:
    counts: dict[str, Any] = {"accuracy": np.ones((3, 2)), "labels": np.zeros(32, dtype=np.uint8)}
    save_counts(tmp_path / "counts.npz", {"validation": counts})
    store = SimpleNamespace(fetch=lambda record: record.folder)
    records: Any = {
        key: SimpleNamespace(key=key, folder=folder)
        for key, folder in {"whole": tmp_path, "damaged": None}.items()
    }
    read = counts_reader(records, cast(Store, store))
    assert read("whole").keys() == {"validation/accuracy", "validation/labels"}
    assert np.array_equal(read("whole")["validation/accuracy"], counts["accuracy"])
    with pytest.raises(ValueError, match="stage damaged are damaged"):
        read("damaged")
