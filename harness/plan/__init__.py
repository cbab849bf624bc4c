"""Experiment -> Plan: arms, stages with content keys, cost, and the proof of what differs."""

from harness.plan.contract import differing_fields, flat_fields
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.keys import STAGE_VERSIONS, stage_key
from harness.plan.making import estimated_seconds, load_plan, make_plan
from harness.plan.values import Cell, Plan, Probing, Stage

__all__ = [
    "STAGE_VERSIONS",
    "Cell",
    "Cost",
    "Plan",
    "Probing",
    "Stage",
    "differing_fields",
    "estimated_seconds",
    "flat_fields",
    "load_plan",
    "make_plan",
    "pretraining_cost",
    "stage_key",
]
