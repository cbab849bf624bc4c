"""Checks of expectations about quantities that fine-tuning must measure."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems, declared_expectations
from harness.experiment.experiment import Experiment
from harness.experiment.outcomes import quantities_of


def quantity_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Expectations about a quantity whose diagnostic an arm does not have."""
    measured = {arm.name: arm.evaluate.diagnostics for arm in arms}
    for keys, expected in declared_expectations(experiment):
        for diagnostic in _diagnostics(expected.outcome):
            without = [
                arm for arm in expected.arms if diagnostic not in measured.get(arm, (diagnostic,))
            ]
            if without:
                yield (
                    keys,
                    f"{'.'.join(map(str, keys[:-1]))}: '{expected}' needs evaluate.diagnostics: "
                    f"[{diagnostic}], which {without[0]} does not have",
                )


def _diagnostics(outcome: str) -> Iterator[str]:
    """The diagnostics that an outcome, or a gap of two, needs."""
    yield from dict.fromkeys(filter(None, (one.diagnostic for one in quantities_of(outcome))))
