"""Learning the layers of another arm's networks: stages, keys, costs, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.experiment.declaration import from_data
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.teacher_layers import NETWORK
from harness.plan.costs import finetuning_flops
from harness.plan.plan import Plan
from harness.tasks import TASKS
from tests.plan.test_task_chain_stages import BASE, FAST, planned
from tests.plan.test_teaching_runs import stage
from tests.stage_runner import StageRunner

TASK = "micro-rte"
LAYERS = {"teacher": "large", "layers": {"epochs": 2}}
LARGE = {"pretrain.size.hidden_size": 32}
ARMS: dict[str, dict[str, Any]] = {
    "outputs": {"evaluate.distillation": {"teacher": "large"}},
    "layers": {"evaluate.distillation": LAYERS},
    "large": LARGE,
}


@cache
def plan() -> Plan:
    return planned({"model": ARMS}, tasks=[TASK])


def test_the_student_has_the_layers_in_its_key_and_the_teacher_keeps_its_network() -> None:
    student, teacher = stage(plan(), "layers", TASK), stage(plan(), "large", TASK)
    assert student.spec["distillation"]["layers"] == {
        "epochs": 2,
        "hidden_weight": 1.0,
        "attention_weight": 1.0,
    }
    assert student.parents["teacher"] == teacher.key and teacher.spec["teaches_layers"]
    assert student.key != stage(plan(), "outputs", TASK).key
    assert "layers" not in stage(plan(), "outputs", TASK).spec["distillation"]


def test_without_layers_keys_are_as_before() -> None:
    alone = planned({"model": {name: ARMS[name] for name in ("outputs", "large")}}, tasks=[TASK])
    assert "teaches_layers" not in stage(alone, "large", TASK).spec


def test_the_teacher_reads_every_input_of_the_first_epochs() -> None:
    """By hand: 3 passes of the student and one of the teacher for each of 2 more epochs."""
    arms = {arm.name: arm for arm in plan().arms}
    student, teacher, settings = arms["layers"], arms["large"], arms["layers"].evaluate.finetune
    task = TASKS[TASK]
    own = finetuning_flops(student, task, settings)
    found = finetuning_flops(student, task, settings, teacher)
    once = [finetuning_flops(arm, task, settings) / settings.epochs for arm in (student, teacher)]
    assert found - own == pytest.approx(2 * (once[0] + once[1] / 3))
    assert stage(plan(), "layers", TASK).flops == pytest.approx(found)


def test_the_student_learns_the_network_that_the_teacher_leaves(tmp_path: Path) -> None:
    runner = StageRunner(tmp_path)
    results = {name: runner.make(plan(), stage(plan(), name, TASK).key) for name in ARMS}
    epochs = plan().arms[0].evaluate.finetune.epochs
    assert results["layers"]["steps"] == results["outputs"]["steps"] * (epochs + 2) / epochs
    assert results["layers"]["train_loss"] != results["outputs"]["train_loss"]
    assert (runner.out(stage(plan(), "large", TASK).key) / NETWORK / "tokenizer.json").exists()


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"large": LARGE | {"evaluate.adaptation": "lora"}},
        "own weights, as full does, but it is lora",
    ),
    (
        {"large": {"pretrain.recipe": "gpt2"}},
        "'large' must be an encoder read .* gpt2, read causal",
    ),
    (
        {"large": LARGE | {"evaluate.protocol.max_sequence_length": 16}},
        "'large' reads the inputs of 'layers', whose .*max_sequence_length is .*, but has 16",
    ),
    (
        {"large": LARGE | {"pretrain.tokenizer.vocab_size": 300}},
        "must have the tokenizer of 'layers'",
    ),
    ({"large": LARGE | {"pretrain.size.num_heads": 4}}, "as many heads as the teacher has, 4"),
    (
        {"large": LARGE | {"pretrain.model.family": "deberta"}},
        "need a teacher with ordinary attention, but its family is deberta",
    ),
]


@pytest.mark.parametrize(("arms", "message"), REFUSED)
def test_unsuitable_teachers(arms: dict[str, Any], message: str) -> None:
    grid = {"model": {**ARMS, **arms}}
    fields = {**BASE, "evaluate": {**FAST, "tasks": [TASK]}, "grid": grid}
    with pytest.raises(DeclarationError, match=f"evaluate.distillation.layers: .*{message}"):
        from_data(fields)


def test_students_that_are_not_trained_whole_are_refused() -> None:
    fields = {**FAST, "tasks": [TASK], "distillation": LAYERS, "adaptation": "frozen"}
    with pytest.raises(ValueError, match="layers needs the adaptation full, but it is frozen"):
        Evaluate.read(fields)


def test_a_search_tries_only_adaptations_with_layers_to_learn() -> None:
    tried: dict[str, Any] = {"full": {}, "gradual": {}, "lora": {}}
    fields = {**BASE, "evaluate": {**FAST, "tasks": [TASK]}, "grid": {"model": ARMS}}
    with pytest.raises(DeclarationError) as found:
        from_data({**fields, "sweep": {"trials": 2, "space": {"adaptation": tried}}})
    assert [message.partition("layers: ")[2] for message in found.value.problems] == [
        "the adaptation of 'large' must train the network's own weights, as full does, but it is "
        "lora",
        "the adaptation of 'layers' must be full, but it is gradual",
        "the adaptation of 'layers' must be full, but it is lora",
    ]
