"""Fine-tuning runs that are recorded with given answers, without training."""

import numpy as np

from harness.plan.plan import FinetuneRun
from harness.study import Study
from harness.tasks.examples import Examples
from harness.tasks.scores import COUNTS, PREDICTIONS, counts, predictions_frame, save_counts, score
from harness.tasks.task import Task


def record_run(
    study: Study, run: FinetuneRun, task: Task, examples: Examples, answers: np.ndarray
) -> None:
    """Records a run on the validation split, as its stage does."""
    out = study.folder.parent / run.key
    out.mkdir()
    predictions_frame("validation", examples, answers).to_parquet(out / PREDICTIONS)
    save_counts(out / COUNTS, {"validation": counts(task, examples, answers)})
    metrics = {f"validation/{name}": v for name, v in score(task, examples, answers).items()}
    stage = study.plan.stages[run.key]
    study.store.record(run.key, stage.kind, stage.label, {}, {"seconds": 2.0, **metrics}, out)
