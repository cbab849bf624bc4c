"""What a user declares, and the arms it resolves to."""

from harness.experiment.arms import (
    Arm,
    changed_tree,
    choices,
    combinations,
    resolve_arm,
    value_label,
)
from harness.experiment.evaluate import Evaluate
from harness.experiment.experiment import Axis, Comparison, Experiment, Seeds
from harness.experiment.names import DEFAULT_RECIPE, NAMED, ROLES, expand_names
from harness.experiment.recipes import on_recipe, resolve_pretrain

__all__ = [
    "DEFAULT_RECIPE",
    "NAMED",
    "ROLES",
    "Arm",
    "Axis",
    "Comparison",
    "Evaluate",
    "Experiment",
    "Seeds",
    "changed_tree",
    "choices",
    "combinations",
    "expand_names",
    "on_recipe",
    "resolve_arm",
    "resolve_pretrain",
    "value_label",
]
