"""Fine-tuning on the outputs of another arm: stages, keys, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.experiment.declaration import from_data
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.soft_targets import OUTPUTS
from harness.plan.factory import make_plan
from harness.plan.plan import Plan, Stage
from tests.plan.test_task_chain_stages import BASE, FAST, planned
from tests.stage_runner import StageRunner

TAUGHT = {"teacher": "large"}
ARMS: dict[str, dict[str, Any]] = {
    "small": {},
    "taught": {"evaluate.distillation": TAUGHT},
    "large": {"pretrain.size.hidden_size": 32},
}
TASKS = ["micro-rte", "micro-stsb"]


@cache
def plan() -> Plan:
    return planned({"model": ARMS}, tasks=TASKS)


def stage(made: Plan, arm: str, task: str) -> Stage:
    runs = {(run.arm, run.task): run.key for run in made.finetune_runs}
    return made.stages[runs[arm, task]]


def test_the_run_of_the_teacher_is_a_parent() -> None:
    for task in TASKS:
        student, teacher = stage(plan(), "taught", task), stage(plan(), "large", task)
        assert student.parents["teacher"] == teacher.key and teacher.spec["teaches"]
        assert student.spec["distillation"] == {"temperature": 1.0, "soft_target_weight": 1.0}
        assert "teacher" not in stage(plan(), "small", task).parents


def test_other_stages_keep_their_keys() -> None:
    alone = planned({"model": {name: ARMS[name] for name in ("small", "large")}}, tasks=TASKS)
    for task in TASKS:
        assert stage(alone, "small", task).key == stage(plan(), "small", task).key
    kept = {key for key, one in alone.stages.items() if one.kind != "finetune"}
    assert kept == {key for key, one in plan().stages.items() if one.kind != "finetune"}


def test_the_name_of_the_teacher_does_not_enter_the_key() -> None:
    arms = {"student": ARMS["taught"] | {"evaluate.distillation": {"teacher": "big"}}}
    renamed = planned({"model": {**arms, "big": ARMS["large"]}}, tasks=TASKS)
    found = stage(renamed, "student", "micro-rte").key
    assert found == stage(plan(), "taught", "micro-rte").key


def test_what_the_teacher_does_not_support_the_student_does_not() -> None:
    large = {"pretrain.recipe": "cbow", "evaluate.adaptation": "lora"}
    made = planned({"model": {"taught": ARMS["taught"], "large": large}}, tasks=TASKS)
    why = made.unsupported["large", "micro-rte"]
    assert made.unsupported["taught", "micro-rte"] == f"of its teacher large: {why}"


def test_a_search_learns_from_the_teacher() -> None:
    fields = {**BASE, "evaluate": {**FAST, "tasks": ["micro-rte"]}, "grid": {"model": ARMS}}
    sweep = {"trials": 2, "sampler": "random", "space": {"learning_rate": [1e-3, 1e-2]}}
    made = make_plan(from_data({**fields, "sweep": sweep}))
    teacher = stage(made, "large", "micro-rte").key
    trials = [one for one in made.stages.values() if one.kind == "trial"]
    taught = [one for one in trials if one.parents.get("teacher") == teacher]
    assert len(trials) == 6 and len(taught) == 2
    assert all("distillation" in one.spec for one in taught)


def test_the_teacher_leaves_its_outputs_and_the_student_learns_them(tmp_path: Path) -> None:
    runner = StageRunner(tmp_path)
    losses = {}
    for task, width in (("micro-rte", 2), ("micro-stsb", 1)):
        teacher, student = stage(plan(), "large", task), stage(plan(), "taught", task)
        found = runner.make(plan(), student.key)
        assert found["steps"] == 2 and not found["diverged"]
        assert np.load(runner.out(teacher.key) / OUTPUTS).shape == (16, width)
        losses[task] = found["train_loss"]
        small = stage(plan(), "small", task)
        assert runner.make(plan(), small.key)["train_loss"] != losses[task]
        assert not (runner.out(small.key) / OUTPUTS).exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"multitask": {}}, "distillation needs a model for each task, but multitask trains one"),
        ({"sequential": True}, "distillation needs a model for each task, but sequential"),
        ({"adaptation": "prompt"}, "needs an adaptation that trains, but it is prompt"),
        ({"protocol": {"answer": "text"}}, "an output layer, but micro-rte is answered as text"),
        ({"suite": "micro-ner-v1", "tasks": None}, "classification and regression, but micro-"),
        (
            {"tasks": ["micro-stsb"], "distillation": {"teacher": "large", "temperature": 2}},
            "temperature is for classes, but all tasks are of regression",
        ),
        ({"distillation": {"teacher": "large", "temperature": 0}}, "greater than 0"),
        ({"distillation": {"teacher": "large", "soft_target_weight": 1.5}}, "less than or equal"),
    ],
)
def test_invalid_fields(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.read({**FAST, "distillation": TAUGHT, **fields})


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({"large": ARMS["taught"]}, "must be another arm than 'large' itself"),
        ({"large": {}, "taught": {"evaluate.distillation": {"teacher": "lrage"}}}, "mean 'large'"),
        (
            {
                "taught": ARMS["taught"],
                "large": {"evaluate.distillation": {"teacher": "huge"}},
                "huge": {"pretrain.size.hidden_size": 32},
            },
            "'large' must learn from labels, but has a teacher itself",
        ),
        (
            {"taught": ARMS["taught"], "large": {"evaluate.multitask": {}}},
            "'large' must train a model for each task, but evaluate.multitask trains one for all",
        ),
        (
            {"taught": ARMS["taught"], "large": {"pretrain.recipe": "majority"}},
            "'large' must be a network that is fine-tuned, but is majority",
        ),
        (
            {"taught": ARMS["taught"], "large": {"evaluate.adaptation": "prompt"}},
            "'large' must be a network that is fine-tuned, but is prompt",
        ),
        (
            {
                "taught": ARMS["taught"],
                "large": {"evaluate.protocol.max_train_examples": 32},
            },
            "whose evaluate.protocol.max_train_examples is 16, but has 32",
        ),
        (
            {"taught": ARMS["taught"] | {"pretrain.recipe": "majority"}, "large": {}},
            "evaluate.distillation has no effect on the baseline majority; leave it out",
        ),
    ],
)
def test_unsuitable_teachers(arms: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        from_data({**BASE, "evaluate": {**FAST, "tasks": TASKS}, "grid": {"model": arms}})
