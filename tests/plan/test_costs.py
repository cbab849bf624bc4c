"""FLOPs of fine-tuning stages against a hand count; which networks leave a GPU idle."""

from typing import Any

import pytest

from harness.experiment.arms import Arm, resolve_arm
from harness.experiment.experiment import Experiment
from harness.finetuning.protocol import Finetune
from harness.models import Architecture
from harness.plan.costs import MEAN_TASK_TOKENS, finetuning_flops, is_small
from harness.tasks import TASKS

SIZES = {"nano": True, "mini": True, "base": False}
"""Size to whether its networks are small."""
LAYERS, HIDDEN, WIDE = 2, 128, 512


def arm(recipe: str, **pretrain: Any) -> Arm:
    data = {
        "name": "costs",
        "question": "What does fine-tuning cost?",
        "pretrain": {"recipe": recipe, "size": "tiny", **pretrain},
        "evaluate": {"suite": "micro-glue-v1"},
    }
    return resolve_arm(Experiment.read(data), {}, {})


def layer(queries: int, keys: int) -> int:
    """Multiply-adds of attention and feed-forward for `queries` tokens."""
    projections = 2 * queries * HIDDEN**2 + 2 * keys * HIDDEN**2  # query and output, key and value
    return projections + 2 * queries * keys * HIDDEN + 2 * queries * HIDDEN * WIDE


def across(tokens: int) -> int:
    """Multiply-adds of a decoder's attention to the encoder."""
    return layer(tokens, tokens) - 2 * tokens * HIDDEN * WIDE


@pytest.mark.parametrize("recipe", ["bert", "gpt2", "bart"])
def test_an_input_is_counted_once_for_each_stack(recipe: str) -> None:
    task, tokens = TASKS["micro-rte"], MEAN_TASK_TOKENS
    forward = LAYERS * layer(tokens, tokens)
    if recipe == "bart":  # its encoder and its decoder both get the input
        forward = 2 * forward + LAYERS * across(tokens)
    expected = 3 * 2 * forward * task.train_size * 4
    found = finetuning_flops(arm(recipe), task, Finetune(epochs=4))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("recipe", ["bert", "roberta", "gpt2", "albert", "electra"])
def test_networks_up_to_mini_leave_a_gpu_idle(recipe: str) -> None:
    assert {size: is_small(arm(recipe, size=size).pretrain) for size in SIZES} == SIZES


def test_a_small_student_of_a_large_teacher_does_not() -> None:
    # A student without what needs equal widths.
    narrower = {"distillation": {"cosine_weight": 0.0, "init_from_teacher": False}}
    for size, expected in SIZES.items():
        student = arm("distilbert", objective=narrower, teacher={"size": size}).pretrain
        assert student.teacher and is_small(student) is expected


def test_a_checkpoint_that_is_not_here_does_not() -> None:
    model = {"family": "checkpoint", "checkpoint": "example/unknown", "revision": "0" * 40}
    run = arm("bert").pretrain.model_copy(update={"model": Architecture.read(model)})
    assert not is_small(run)
