"""Provenance of a report's numbers."""

from harness.analysis.results import Results
from harness.execution.provenance import fingerprints, makers, provenance, run_again


def report_provenance(results: Results) -> dict[str, object]:
    """Title to text or to named values: software, machine, command and data."""
    plan, declaration = results.plan, results.plan.declaration
    weights = {arm: one.get("weights", "") for arm, one in results.imported.items()}
    return {
        "software of this report": provenance(),
        "software of the stages": makers(one.made_with for one in results.finished.values()),
        "to reproduce": run_again(declaration.path, declaration.overrides, declaration.variants),
        "data": fingerprints(plan.stages.values()),
        **({"weights of checkpoints": weights} if weights else {}),
    }
