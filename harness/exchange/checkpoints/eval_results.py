"""Evaluation results of an exported network in the Hub's format, `.eval_results/*.yaml`.

Format: https://huggingface.co/docs/hub/eval-results, written by `huggingface_hub`. The Hub shows a
result where the data set is registered as a benchmark whose `eval.yaml` has the task id. Of other
data sets, the id is that of the config, `default` if there is none.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from harness.core.names import file_name
from harness.exchange.checkpoints.card_data import CardScores, MainScore
from harness.tasks.task import HubData

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"


def write_eval_results(scores: CardScores, out: Path) -> None:
    """Writes a file for each task on a data set of the Hub into `out`/FOLDER: the main score x 100.

    Tasks of the micro-world and of local files have none, because the format needs a data set of
    the Hub.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    for score in scores.main:
        if entry := _entry(score, scores.protocol):
            (out / FOLDER).mkdir(exist_ok=True)
            text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False)
            (out / FOLDER / f"{file_name(score.task.name)}.yaml").write_text(text, encoding="utf-8")


def _entry(score: MainScore, protocol: str) -> "EvalResultEntry | None":
    """The `EvalResultEntry` of a score; null if the task's data is not on the Hub."""
    from huggingface_hub import EvalResultEntry

    data, split = score.task.data, score.task.evaluation[0]
    if not isinstance(data, HubData):
        return None
    return EvalResultEntry(
        dataset_id=split.path or data.path,
        task_id=split.config or data.config or "default",
        value=round(score.value, 2),
        dataset_revision=split.revision if split.path else data.revision,
        notes=(
            f"{score.task.metrics[0]} x 100 on {split.of or split.name}, mean over "
            f"{score.num_runs} fine-tuning runs; {protocol}"
        ),
    )
