"""Records an experiment in the store, for boards, which read no experiment files."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.store.recorded import QUICK_SPEC_FILE, SCORES_FILE, SPEC_FILE, STAGES_FILE


def record_results(results: Results) -> None:
    """Stores the specification of the experiment, with the number of fine-tuning runs by arm and
    task (`runs`) and the lengths of sentence-transformers models (`own_lengths`), its scores so far
    and the keys of its stages."""
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
        (folder / STAGES_FILE).write_text(json.dumps(list(results.plan.stages)))
        results.store.record_experiment(results.experiment.name, results.suite.name, folder)
