"""Settings that nobody chose, and compute that only some arms have."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.models.checkpoints import files
from harness.plan.checks.settings import (
    more_pretraining,
    shared_learning_rate,
    small_checkpoints,
    unlike_defaults,
)
from tests.plan.checks.test_checks import planned

SPACE = {"learning_rate": [1e-4, 1e-3], "batch_size": [16, 32]}
SWEEP = {"trials": 2, "sampler": "random", "space": SPACE}
SIZES = {"size": {"small": {"pretrain.size": "nano"}, "large": {"pretrain.size": "base"}}}


def test_small_and_published_sizes_with_unlike_defaults() -> None:
    (line,) = unlike_defaults(planned({"size": "nano"}, grid=SIZES))
    assert line.startswith("small and large are fine-tuned with settings that nobody set")
    for text in ("finetune.epochs 6 and 3", "protocol.pooling max and native"):
        assert text in line
    assert "weight_decay" not in line


def test_settings_that_are_set_or_searched_are_no_unlike_defaults() -> None:
    finetune = {"learning_rate": 1e-4, "epochs": 3, "batch_size": 32}
    protocol = {"pooling": "cls", "head_dropout": 0.1}
    evaluate: dict[str, Any] = {"tasks": ["micro-sst2"], "finetune": finetune}
    (line,) = unlike_defaults(planned(grid=SIZES, evaluate=evaluate))
    assert "finetune" not in line.partition("by size:")[2] and "pooling" in line
    every = evaluate | {"protocol": protocol}
    assert not [*unlike_defaults(planned(grid=SIZES, evaluate=every))]
    (line,) = unlike_defaults(planned(grid=SIZES, sweep=SWEEP))
    assert "learning_rate" not in line and "epochs" in line


def test_similarity_alone_has_no_settings_of_fine_tuning() -> None:
    evaluate = {"suite": "micro-sts-v1"}
    assert not [*unlike_defaults(planned(grid=SIZES, evaluate=evaluate))]
    grid = {"evaluate.adaptation": ["full", "lora"]}
    assert not [*shared_learning_rate(planned(grid=grid, evaluate=evaluate))]
    step = {"task": "micro-mnli"}
    trained = evaluate | {"tasks": ["micro-sts"], "intermediate_tasks": [step]}
    assert len([*unlike_defaults(planned(grid=SIZES, evaluate=trained))]) == 1


@pytest.mark.parametrize(("width", "warned"), [(128, True), (512, False)])
def test_a_small_checkpoint_with_the_settings_of_published_sizes(
    width: int, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": width}))
    monkeypatch.setattr(files, "problem", lambda folder: "")
    monkeypatch.setattr(files, "found", lambda *model: tmp_path)
    monkeypatch.setattr(files, "read_config", lambda folder: {"hidden_size": width})
    plan = planned(grid={"evaluate.adaptation": ["full", "lora"]})
    for arm in plan.arms:
        model = arm.pretrain.model.model_copy(update={"checkpoint": "me/tiny"})
        object.__setattr__(arm, "pretrain", arm.pretrain.model_copy(update={"model": model}))
        finetune = arm.evaluate.finetune.model_copy(update={"learning_rate": 5e-5})
        object.__setattr__(arm, "evaluate", arm.evaluate.model_copy(update={"finetune": finetune}))
    lines = [*small_checkpoints(plan)]
    assert len(lines) == warned
    if lines:
        assert lines[0].startswith("full, lora: the checkpoints have a hidden size of 128")
        assert "finetune.learning_rate 5e-05 instead of 0.0005" in lines[0]


def test_adaptations_that_share_an_untuned_learning_rate() -> None:
    grid = {"evaluate.adaptation": ["full", "lora"]}
    (line,) = shared_learning_rate(planned(grid=grid))
    assert line.startswith("full, lora differ in adaptation (full, lora) and share the untuned")
    assert not [*shared_learning_rate(planned(grid=grid, sweep=SWEEP))]
    chosen = {
        "adaptation": {
            name: {"evaluate.adaptation": name, "evaluate.finetune.learning_rate": 1e-3}
            for name in ("full", "lora")
        }
    }
    assert not [*shared_learning_rate(planned(grid=chosen))]
    assert not [*shared_learning_rate(planned(grid={"evaluate.finetune.epochs": [1, 2]}))]


def test_continued_pretraining_is_more_pretraining() -> None:
    step = {"corpus": "microworld", "budget": {"steps": 10}}
    grid = {"text": {"none": {}, "more": {"evaluate.continued_pretraining": [step]}}}
    (line,) = more_pretraining(planned(grid=grid))
    assert "tokens of continued pretraining: none 0, more " in line
    assert not [*more_pretraining(planned())]
