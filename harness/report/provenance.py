"""Provenance of a report's numbers."""

import yaml

from harness.analysis.results import Results
from harness.execution.provenance import fingerprints, makers, provenance, run_again


def report_provenance(results: Results) -> dict[str, object]:
    """Title to text or to named values: software, machine, command, data, the resolved experiment
    and the keys of all stages."""
    plan, declaration = results.plan, results.plan.declaration
    return {
        "software of this report": provenance(),
        "software of the stages": makers(one.made_with for one in results.finished.values()),
        "to reproduce": run_again(declaration.path, declaration.overrides, declaration.variants),
        "data": fingerprints(plan.stages.values()),
        "experiment": yaml.safe_dump(declaration.resolved(), sort_keys=False, allow_unicode=True),
        "stages": {f"{stage.kind} {stage.label}": key for key, stage in plan.stages.items()},
    }
