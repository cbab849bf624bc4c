"""What sets arms apart, as a table."""

from harness.report.arm_tables import cost, what_differs


def test_no_cell_is_empty(fabricate):
    differences = {"evaluate.intermediate_tasks": {"alone": [], "first": ["mnli", "rte"]}}
    grid = what_differs(fabricate({"alone": 0.9, "first": 0.8}, differences=differences))
    assert grid.head == ["field", "alone", "first"]
    assert grid.rows == [["evaluate.intermediate_tasks", "–", "mnli; rte"]]


def test_what_is_planned_is_called_so(fabricate):
    head = cost(fabricate({"good": 0.9})).head
    assert head == [
        *("arm", "parameters (by the declared vocabulary)", "tokens"),
        "FLOPs (by the declared vocabulary)",
    ]
