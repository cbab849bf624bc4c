"""What sets arms apart, as a table."""

from dataclasses import replace

from harness.report.arm_tables import what_differs
from harness.report.sections.pretraining import pretraining_table


def test_no_cell_is_empty(fabricate):
    differences = {"evaluate.intermediate_tasks": {"alone": [], "first": ["mnli", "rte"]}}
    grid = what_differs(fabricate({"alone": 0.9, "first": 0.8}, differences=differences))
    assert grid.head == ["field", "alone", "first"]
    assert grid.rows == [["evaluate.intermediate_tasks", "–", "mnli; rte"]]


def test_parameters_are_called_by_the_vocabulary_they_are_counted_with(fabricate):
    data = fabricate({"good": 0.9})
    head = pretraining_table(data).head
    assert head == [
        *("arm", "parameters (with the declared vocabulary size)", "tokens"),
        "FLOPs (with the declared vocabulary size)",
    ]
    data.plan = replace(data.plan, vocab_sizes={"good": 973})
    assert pretraining_table(data).head[1] == "parameters (with the learned vocabulary)"
