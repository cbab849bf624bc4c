"""Records an experiment in the store, for boards, which read no experiment files."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.analysis.frames.quantities import quantity_values
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.store.recorded import (
    QUANTITIES_FILE,
    QUICK_SPEC_FILE,
    SCORES_FILE,
    SPEC_FILE,
    STAGES_FILE,
)

RECORDED = ("loss", "bits_per_byte", "flops", "parameters", "pretraining_seconds")
"""Quantities that boards over a store can show."""


def record_results(results: Results) -> None:
    """Stores the specification of the experiment, with the number of fine-tuning runs by arm and
    task (`runs`) and the lengths of sentence-transformers models (`own_lengths`), its scores and
    quantities so far, and the keys of its stages; unless the latest record is the same."""
    import yaml

    resolved = {
        **results.plan.declaration.resolved(),
        "runs": results.num_planned,
        "own_lengths": results.own_lengths,
    }
    spec = yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        results.get(scores_frame).to_parquet(folder / SCORES_FILE, index=False)
        (folder / SPEC_FILE).write_text(spec)
        (folder / QUICK_SPEC_FILE).write_text(json.dumps(resolved))
        (folder / QUANTITIES_FILE).write_text(json.dumps(recorded_quantities(results)))
        (folder / STAGES_FILE).write_text(json.dumps(list(results.plan.stages)))
        name, store = results.experiment.name, results.store
        if not store.is_recorded(name, folder):
            store.record_experiment(name, results.suite.name, folder)


def recorded_quantities(results: Results) -> dict[str, dict[str, list[float]]]:
    """Arm to quantity to its values, [num_seeds] or [1], of those in RECORDED that are known."""
    found: dict[str, dict[str, list[float]]] = {arm: {} for arm in results.arms}
    for name in RECORDED:
        for arm, values in quantity_values(results, name).items():
            found[arm][name] = values.tolist()
    return found
