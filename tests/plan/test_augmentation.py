"""Students of augmented examples: stages, keys, costs, and what is refused."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.experiment.declaration import from_data
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.augmentation import outputs_folder
from harness.finetuning.distillation import TEXTS, Augmentation
from harness.finetuning.soft_targets import OUTPUTS
from harness.plan.costs import augmenting_flops, finetuning_flops
from harness.plan.plan import Plan
from harness.tasks import TASKS
from tests.plan.test_task_chain_stages import BASE, FAST, planned
from tests.plan.test_teaching_runs import stage
from tests.stage_runner import StageRunner

TASK = "micro-rte"
FEW = {"copies": 2, "probability": 0.5}
PLAIN: dict[str, dict[str, Any]] = {
    "taught": {"evaluate.distillation": {"teacher": "large"}},
    "large": {"pretrain.size.hidden_size": 32},
}
ARMS = {
    **PLAIN,
    "few": {"evaluate.distillation": {"teacher": "large", "augment": FEW}},
    "more": {
        "evaluate.distillation": {
            "teacher": "large",
            "augment": {"copies": 3},
            "layers": {"epochs": 1},
        }
    },
}


@cache
def plan() -> Plan:
    return planned({"model": ARMS}, tasks=[TASK])


def test_settings_are_in_the_keys_of_student_and_teacher_alone() -> None:
    few = {"copies": 2, "probability": 0.5, "candidates": 15}
    assert stage(plan(), "few", TASK).spec["distillation"]["augment"] == few
    teacher = stage(plan(), "large", TASK)
    assert teacher.spec["teaches_augmented"] == [few, {**few, "copies": 3, "probability": 0.4}]
    plain = planned({"model": PLAIN}, tasks=[TASK])
    assert "teaches_augmented" not in stage(plain, "large", TASK).spec
    assert "augment" not in stage(plain, "taught", TASK).spec["distillation"]
    assert stage(plain, "large", TASK).key != teacher.key


def test_costs_count_copies_and_the_words_of_the_teacher() -> None:
    arms, task = {arm.name: arm for arm in plan().arms}, TASKS[TASK]
    settings = arms["few"].evaluate.finetune
    once = {
        name: finetuning_flops(arms[name], task, settings) for name in ("few", "taught", "large")
    }
    assert once["few"] == pytest.approx(3 * once["taught"])
    assert stage(plan(), "few", TASK).flops == pytest.approx(once["few"])
    extra = [augmenting_flops(arms["large"], task, Augmentation(copies=n)) for n in (2, 3)]
    one_pass = once["large"] / settings.epochs / 3
    assert extra == pytest.approx([43 * one_pass, 44 * one_pass])  # 40 words of an input
    assert stage(plan(), "large", TASK).flops == pytest.approx(once["large"] + sum(extra))


def test_earlier_tasks_are_not_augmented() -> None:
    """Their stage is that of the student without copies, and costs as much."""
    earlier = {"evaluate.intermediate_tasks": [{"task": "micro-mnli"}]}
    arms = {name: {**ARMS[name], **earlier} for name in ("taught", "few")} | {
        "large": PLAIN["large"]
    }
    costs = []
    for one in ("taught", "few"):
        found = planned({"model": {one: arms[one], "large": arms["large"]}}, tasks=[TASK])
        costs.append(found.stages[stage(found, one, TASK).parents["body"]].flops)
    assert costs[0] == costs[1]


def test_the_student_learns_the_outputs_on_the_copies(tmp_path: Path) -> None:
    runner = StageRunner(tmp_path)
    found = {name: runner.make(plan(), stage(plan(), name, TASK).key) for name in ARMS}
    steps = {name: metrics["steps"] for name, metrics in found.items()}
    # 16 examples in batches of 8; 2 copies; 3 copies in one epoch of layers and one of outputs
    assert (steps["taught"], steps["few"], steps["more"]) == (2, 6, 16)
    assert found["few"]["train_loss"] != found["taught"]["train_loss"]
    teacher = runner.out(stage(plan(), "large", TASK).key)
    folder = outputs_folder(teacher, Augmentation.model_validate(FEW))
    texts, outputs = json.loads((folder / TEXTS).read_text()), np.load(folder / OUTPUTS)
    assert len(texts) == 48 and outputs.shape == (48, 2)
    assert texts[16:32] != texts[:16] != texts[32:]
    np.testing.assert_allclose(outputs[:16], np.load(teacher / OUTPUTS), atol=1e-5)
    assert not np.allclose(outputs[16:32], outputs[:16])


@pytest.mark.parametrize(
    ("large", "message"),
    [
        ({"pretrain.recipe": "gpt2"}, "'large' does not: it reads causal; leave it out"),
        ({"pretrain.recipe": "electra"}, "'large' does not: its output is replaced_token"),
        ({"pretrain.recipe": "xlnet"}, "'large' does not: "),
    ],
)
def test_teachers_that_predict_no_masks_are_refused(large: dict[str, Any], message: str) -> None:
    grid = {"model": {"few": ARMS["few"], "large": large}}
    fields = {**BASE, "evaluate": {**FAST, "tasks": [TASK]}, "grid": grid}
    with pytest.raises(DeclarationError, match=f"distillation.augment needs .*{message}"):
        from_data(fields)


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        ({"copies": 0}, "greater than"),
        ({"probability": 1.1}, "less than"),
        ({"glove": "x"}, "glove"),
    ],
)
def test_invalid_fields(augment: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.read({**FAST, "distillation": {"teacher": "large", "augment": augment}})
