"""What became of single runs, read of the stages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.analysis.frames.runs import finetune_runs_frame, pretrain_runs_frame
from harness.store.store import StageResult

STUDY = """
name: pair
question: Do tasks help each other?
pretrain:
  {recipe: roberta, size: nano, packing: {format: full_sentences}, budget: {steps: 2}}
grid:
  arm:
    alone: {}
    together: {evaluate.multitask: {}}
seeds: {pretrain: 1, finetune: 1}
evaluate: {tasks: [micro-rte, micro-cola]}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    file = tmp_path / "pair.yaml"
    file.write_text(STUDY)
    return load(file, store=tmp_path / "store").plan


def record(key: str, **metrics: float) -> StageResult:
    return StageResult(key, "", "", metrics, "", "")


def records_of(plan: Any, metrics: Callable[[str], dict[str, float]]) -> dict[str, StageResult]:
    return {key: record(key, **metrics(stage.kind)) for key, stage in plan.stages.items()}


def test_a_run_tells_what_became_of_it(plan: Any) -> None:
    told = {"finetune": {"truncated": 0.25, "diverged": 1.0}, "learn": {"truncated": 0.5}}
    frame = finetune_runs_frame(plan, records_of(plan, lambda kind: told.get(kind, {})))
    assert frame["finished"].all()
    by_arm = frame.groupby("arm")
    assert by_arm["truncated"].unique().map(list).to_dict() == {"alone": [0.25], "together": [0.5]}
    assert by_arm["diverged"].all().to_dict() == {"alone": True, "together": False}


def test_what_is_not_finished_tells_nothing(plan: Any) -> None:
    frame = finetune_runs_frame(plan, {})
    assert len(frame) == 4  # 2 arms x 2 tasks
    assert not frame["finished"].any()
    assert frame["truncated"].isna().all()
    assert pretrain_runs_frame(plan, {}).empty


def test_pretraining_tells_its_loss_and_time(plan: Any) -> None:
    told = {"pretrain": {"seconds": 7.0, "validation_loss": 2.5}}
    frame = pretrain_runs_frame(plan, records_of(plan, lambda kind: told.get(kind, {})))
    assert frame[["arm", "seconds", "loss"]].to_numpy().tolist() == [
        ["alone", 7.0, 2.5],
        ["together", 7.0, 2.5],
    ]
    assert frame["bits_per_byte"].isna().all()
