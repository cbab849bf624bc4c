"""Lines of arms: those that differ on one axis alone, which sets the number of labels or epochs."""

from collections.abc import Sequence

from harness.experiment.arms import Arm, choices
from harness.experiment.experiment import Experiment

FIELDS = {
    "labels": "evaluate.protocol.max_train_examples",
    "epochs": "evaluate.finetune.epochs",
}
"""Amount to the field that sets it."""


def line_of(
    experiment: Experiment, arms: Sequence[Arm], name: str, amount: str
) -> dict[str, float | None]:
    """The arms on the line of an arm, itself included, to their amounts: those with its values on
    every axis but the one that sets the amount, which may set other fields, too.

    Args:
        arms: of the experiment.
        name: of the arm.
        amount: one of FIELDS.

    Returns:
        Arm to its amount, ascending, null (all examples) last; only the arm itself if no axis sets
        the amount.
    """
    axis = _axis(experiment, FIELDS[amount])
    (own,) = (arm for arm in arms if arm.name == name)
    line = {
        arm.name: amount_of(arm, amount)
        for arm in arms
        if arm is own or (axis and _others(arm, axis) == _others(own, axis))
    }
    return dict(sorted(line.items(), key=lambda pair: (pair[1] is None, pair[1] or 0.0)))


def amount_of(arm: Arm, amount: str) -> float | None:
    """The number of labels at most, or of epochs, of an arm; null of all train examples."""
    if amount == "labels":
        return arm.evaluate.protocol.max_train_examples
    return arm.evaluate.finetune.epochs


def _axis(experiment: Experiment, field: str) -> str | None:
    """The axis that sets a field."""
    axes = experiment.grid.items()
    return next(
        (a for a, values in axes if any(field in sets for _, sets in choices(a, values))), None
    )


def _others(arm: Arm, axis: str) -> dict[str, str]:
    return {name: label for name, label in arm.labels.items() if name != axis}
