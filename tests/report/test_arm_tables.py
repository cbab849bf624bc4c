"""What sets arms apart, as a table."""

from harness.report.arm_tables import what_differs
from harness.report.sections.pretraining import pretraining_table


def test_no_cell_is_empty(fabricate):
    differences = {"evaluate.intermediate_tasks": {"alone": [], "first": ["mnli", "rte"]}}
    grid = what_differs(fabricate({"alone": 0.9, "first": 0.8}, differences=differences))
    assert grid.head == ["field", "alone", "first"]
    assert grid.rows == [["evaluate.intermediate_tasks", "–", "mnli; rte"]]


def test_what_is_planned_is_called_so(fabricate):
    head = pretraining_table(fabricate({"good": 0.9})).head
    assert head == [
        *("arm", "parameters (with the declared vocabulary size)", "tokens"),
        "FLOPs (with the declared vocabulary size)",
    ]
