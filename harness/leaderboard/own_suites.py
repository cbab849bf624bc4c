"""The suites that the experiments of a store declare themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from harness.store.recorded import RecordedExperiment
from harness.tasks.custom import CustomSuite, as_suite
from harness.tasks.task import Suite


def own_suites(experiments: Sequence[RecordedExperiment]) -> dict[str, Suite]:
    """Name to suite of those declared by recorded experiments; without those that an earlier
    version recorded with other fields."""
    found: dict[str, Suite] = {}
    for one in experiments:
        declared = _declared(one)
        if isinstance(declared, Mapping) and declared.get("name") not in found:
            try:
                suite = as_suite(CustomSuite.model_validate(declared))
            except ValidationError:
                continue
            found[suite.name] = suite
    return found


def check_plugin_suite(name: str, experiments: Sequence[RecordedExperiment]) -> None:
    """Checks that an unknown name is not that of a suite of a plug-in, which boards do not import.

    Raises:
        ValueError: a recorded experiment has this suite.
    """
    for one in experiments:
        if _declared(one) == name:
            raise ValueError(
                f"the suite {name!r} is of a plug-in, which boards of a store do not import: run "
                f"`harness leaderboard` with the file of {one.name}, whose table has it"
            )


def _declared(experiment: RecordedExperiment) -> Any:
    """The suite as an experiment declares it: its name, or its fields."""
    return experiment.spec["experiment"].get("evaluate", {}).get("suite")
