"""Fields of the protocol without effect are refused, unless an arm reads them."""

from typing import Any

import pytest

import harness
from harness.experiment.source import DeclarationError


def declare(protocol: dict[str, Any], tasks: list[str], answers: list[str]) -> int:
    """Number of arms."""
    fields = {
        "name": "x",
        "question": "?",
        "pretrain": {"recipe": "t5", "size": "nano", "budget": {"tokens": 1_000}},
        "evaluate": {"suite": "micro-glue-v1", "tasks": tasks, "protocol": protocol},
        "grid": {"evaluate.protocol.answer": answers},
    }
    return len(harness.declare(fields).plan.arms)


@pytest.mark.parametrize(
    ("protocol", "task", "reading", "other"),
    [
        ({"num_beams": 2}, "micro-cola", "text", "head"),
        ({"both_orders": True}, "micro-mrpc", "head", "text"),
        ({"both_orders": True}, "micro-rte", "", "head"),
    ],
)
def test_a_field_that_an_arm_reads_is_kept(
    protocol: dict[str, Any], task: str, reading: str, other: str
) -> None:
    (field,) = protocol
    with pytest.raises(DeclarationError, match=f"protocol.{field} has no effect: none of {task}"):
        declare(protocol, [task], [other])
    if reading:
        assert declare(protocol, [task], [reading, other]) == 2


def test_earlier_tasks_read_it() -> None:
    fields = {
        "name": "x",
        "question": "?",
        "pretrain": {"recipe": "bert", "size": "nano", "budget": {"tokens": 1_000}},
        "evaluate": {
            "suite": "micro-glue-v1",
            "tasks": ["micro-rte"],
            "protocol": {"both_orders": True},
            "intermediate_tasks": [{"task": "micro-mrpc"}],
        },
    }
    assert harness.declare(fields).plan.arms


def test_weights_of_objectives_are_recorded_beside_an_arm_without_objectives() -> None:
    fields = {
        "name": "x",
        "question": "?",
        "pretrain": {"recipe": "bert", "size": "nano", "budget": {"tokens": 1_000_000}},
        "evaluate": {"suite": "micro-glue-v1", "diagnostics": ["auxiliary_weights"]},
        "grid": {"evaluate.finetune.auxiliary": [None, {"objectives": [{"objective": "mlm"}]}]},
    }
    assert len(harness.declare(fields).plan.arms) == 2


def test_demonstrations_are_kept_beside_an_arm_that_is_trained() -> None:
    fields = {
        "name": "x",
        "question": "?",
        "pretrain": {"recipe": "gpt2", "size": "nano", "budget": {"tokens": 1_000_000}},
        "evaluate": {
            "suite": "micro-glue-v1",
            "tasks": ["micro-sst2"],
            "protocol": {"num_fewshot": 2},
        },
        "grid": {"evaluate.adaptation": ["prompt", "full"]},
    }
    assert len(harness.declare(fields).plan.arms) == 2
