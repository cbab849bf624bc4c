"""The suites that the experiments of a store declare themselves."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from harness.store.recorded import RecordedExperiment
from harness.tasks.custom import CustomSuite, as_suite
from harness.tasks.task import Suite


def own_suites(experiments: Sequence[RecordedExperiment]) -> dict[str, Suite]:
    """Name to suite of those declared by recorded experiments; without those that an earlier
    version recorded with other fields."""
    found: dict[str, Suite] = {}
    for one in experiments:
        declared = one.spec["experiment"].get("evaluate", {}).get("suite")
        if isinstance(declared, Mapping) and declared.get("name") not in found:
            try:
                suite = as_suite(CustomSuite.model_validate(declared))
            except ValidationError:
                continue
            found[suite.name] = suite
    return found
