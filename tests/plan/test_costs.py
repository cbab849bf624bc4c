"""FLOPs of fine-tuning stages against a hand count."""

import pytest

from harness.experiment.arms import Arm, resolve_arm
from harness.experiment.experiment import Experiment
from harness.finetuning.protocol import Finetune
from harness.plan.costs import MEAN_TASK_TOKENS, finetuning_flops
from harness.tasks import TASKS

LAYERS, HIDDEN, WIDE = 2, 128, 512


def arm(recipe: str) -> Arm:
    data = {
        "name": "costs",
        "question": "What does fine-tuning cost?",
        "pretrain": {"recipe": recipe, "size": "tiny"},
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
