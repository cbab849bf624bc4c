"""What became of single runs, read of the stages."""

from pathlib import Path
from typing import Any, cast

import pytest

from harness import load
from harness.analysis.frames.runs import (
    finetune_runs_frame,
    pretrain_runs_frame,
    source_losses_frame,
)
from harness.analysis.results import Results
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


def results_of(plan: Any, metrics: dict[str, dict[str, float]] | None) -> Results:
    """All stages finished, with metrics by kind; none finished if there are no metrics."""
    stages = plan.stages.items() if metrics is not None else ()
    results = Results(plan, store=cast(Any, None))
    results.__dict__["finished"] = {
        key: StageResult(key, "", "", (metrics or {}).get(stage.kind, {}), "", "")
        for key, stage in stages
    }
    return results


def test_a_run_tells_what_became_of_it(plan: Any) -> None:
    metrics = {"finetune": {"truncated": 0.25, "diverged": 1.0}, "train_tasks": {"truncated": 0.5}}
    frame = finetune_runs_frame(results_of(plan, metrics))
    assert frame["finished"].all()
    by_arm = frame.groupby("arm")
    assert by_arm["truncated"].unique().map(list).to_dict() == {"alone": [0.25], "together": [0.5]}
    assert by_arm["diverged"].all().to_dict() == {"alone": True, "together": False}


def test_what_is_not_finished_tells_nothing(plan: Any) -> None:
    frame = finetune_runs_frame(results_of(plan, None))
    assert len(frame) == 4  # 2 arms x 2 tasks
    assert not frame["finished"].any()
    assert frame["truncated"].isna().all()
    assert pretrain_runs_frame(results_of(plan, None)).empty


def test_pretraining_tells_its_loss_and_time(plan: Any) -> None:
    metrics = {"pretrain": {"seconds": 7.0, "validation_loss": 2.5}}
    frame = pretrain_runs_frame(results_of(plan, metrics))
    assert frame[["arm", "seconds", "loss"]].to_numpy().tolist() == [
        ["alone", 7.0, 2.5],
        ["together", 7.0, 2.5],
    ]
    assert frame["bits_per_byte"].isna().all()


@pytest.mark.parametrize(("share", "known"), [(0.0, True), (0.01, True), (0.02, False)])
def test_bits_per_byte_are_of_text_that_the_tokenizer_knows(
    plan: Any, share: float, known: bool
) -> None:
    """An unknown token is cheap to predict, whatever text it stands for."""
    metrics = {
        "pretrain": {"validation_bits_per_byte": 2.0},
        "tokenize": {"validation_unk_share": share},
    }
    frame = pretrain_runs_frame(results_of(plan, metrics))
    assert frame["bits_per_byte"].notna().tolist() == [known, known]


def test_losses_by_source_are_those_of_the_held_out_mixture(tmp_path: Path) -> None:
    domains = "{biomed: {source: microworld, domain: biomed}, news: {source: microworld}}"
    mixture = f"held_out: {{source: mixture, sources: {domains}}}"
    file = tmp_path / "mixed.yaml"
    file.write_text(STUDY.replace("size: nano,", f"size: nano, {mixture},"))
    mixed = load(file, store=tmp_path / "store").plan
    metrics = {"pretrain": {"validation_source_news_loss": 1.5}}
    frame = source_losses_frame(results_of(mixed, metrics))
    by_source = frame.groupby("source")["loss"]
    assert by_source.get_group("news").tolist() == [1.5, 1.5]
    assert by_source.get_group("biomed").isna().all()
    assert source_losses_frame(results_of(mixed, None)).empty


def test_one_source_has_no_losses_by_source(plan: Any) -> None:
    assert source_losses_frame(results_of(plan, {"pretrain": {"validation_loss": 2.5}})).empty
