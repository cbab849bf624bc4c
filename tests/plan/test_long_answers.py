"""Sources and targets that are longer than the positions of a network, if it has any."""

import pytest

from harness.experiment.declaration import from_data
from harness.plan.factory import make_plan
from tests.plan.test_task_chain_stages import BASE, FAST


@pytest.mark.parametrize(
    ("recipe", "adaptation", "reads"),
    [
        ("t5", "full", True),
        ("bart", "full", False),
        ("llama", "full", True),
        ("gpt2", "full", False),
        ("llama", "prompt", True),
        ("gpt2", "prompt", False),
    ],
)
def test_only_tables_of_positions_limit_written_answers(
    recipe: str, adaptation: str, reads: bool
) -> None:
    protocol = {"max_sequence_length": 90, "max_target_length": 110}
    evaluate = {**FAST, "suite": "micro-sum-v1", "tasks": ["micro-sum"], "protocol": protocol}
    pretrain = {**BASE["pretrain"], "recipe": recipe, "model": {"max_position": 100}}
    fields = {**BASE, "pretrain": pretrain, "evaluate": evaluate | {"adaptation": adaptation}}
    reasons = list(make_plan(from_data(fields)).unsupported.values())
    assert not reasons if reads else "its 100 positions are fewer than the" in reasons[0]
