"""Where the numbers of a report come from."""

import yaml

from harness.analysis.results import Results
from harness.execution.provenance import fingerprints, makers, provenance, run_again


def report_provenance(results: Results) -> dict[str, object]:
    """Section to text, or to a mapping of names to values: software, machine, command, data, the
    resolved experiment and the keys of all stages."""
    plan, declaration = results.plan, results.plan.declaration
    return {
        "this report was written with": provenance(),
        "its stages were made with": makers(one.made_with for one in results.finished.values()),
        "to run it again": run_again(declaration.path, declaration.overrides),
        "data": fingerprints(plan.stages.values()),
        "experiment": resolved_yaml(results),
        "stages": {f"{stage.kind} {stage.label}": key for key, stage in plan.stages.items()},
    }


def resolved_yaml(results: Results) -> str:
    """The experiment with its overrides applied and its arms resolved, as YAML."""
    resolved = results.plan.declaration.resolved()
    return str(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True))
