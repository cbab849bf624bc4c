"""The files that the servers of GLUE and SuperGLUE accept: names, sizes and labels.

After `jiant` (nyu-mll/jiant, `scripts/benchmarks` and each task's `super_glue_format_preds`), the
software of the authors of both benchmarks; only WSC has True and False with a capital.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.tasks.benchmarks.glue import GLUE_TASKS
from harness.tasks.benchmarks.superglue import SUPERGLUE_TASKS
from harness.tasks.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (*GLUE_TASKS, *SUPERGLUE_TASKS)}
"""Name to task, of both benchmarks."""


def _number(task: Task, prediction: Any) -> int:
    return max(int(prediction), 0)  # the server accepts classes only; -1 is an answer without one


def _name(task: Task, prediction: Any) -> str:
    return task.labels[_number(task, prediction)]


def _lower(task: Task, prediction: Any) -> str:
    return _name(task, prediction).lower()


def _score(task: Task, prediction: Any) -> str:
    return f"{np.clip(np.nan_to_num(float(prediction)), 0, 5):.3f}"


def _text(task: Task, prediction: Any) -> str:
    return str(prediction)


@dataclass(frozen=True)
class ServerFile:
    """A file that the server expects."""

    task: str
    split: str
    rows: int
    """Number of examples; the server refuses a file with fewer."""
    label: Callable[[Task, Any], Any]
    """The server's label of a prediction."""


GLUE: dict[str, ServerFile] = {
    "CoLA.tsv": ServerFile("cola", "test", 1_063, _number),
    "SST-2.tsv": ServerFile("sst2", "test", 1_821, _number),
    "MRPC.tsv": ServerFile("mrpc", "test", 1_725, _number),
    "STS-B.tsv": ServerFile("stsb", "test", 1_379, _score),
    "MNLI-m.tsv": ServerFile("mnli", "test_matched", 9_796, _name),
    "MNLI-mm.tsv": ServerFile("mnli", "test_mismatched", 9_847, _name),
    "QNLI.tsv": ServerFile("qnli", "test", 5_463, _name),
    "QQP.tsv": ServerFile("qqp", "test", 390_965, _number),
    "RTE.tsv": ServerFile("rte", "test", 3_000, _name),
    "WNLI.tsv": ServerFile("wnli", "test", 146, _number),
    "AX.tsv": ServerFile("mnli", "test", 1_104, _name),
}
SUPERGLUE: dict[str, ServerFile] = {
    "BoolQ.jsonl": ServerFile("boolq", "test", 3_245, _lower),
    "CB.jsonl": ServerFile("cb", "test", 250, _name),
    "COPA.jsonl": ServerFile("copa", "test", 500, _number),
    "MultiRC.jsonl": ServerFile("multirc", "test", 9_693, _number),
    "ReCoRD.jsonl": ServerFile("record", "test", 10_000, _text),
    "RTE.jsonl": ServerFile("superglue_rte", "test", 3_000, _name),
    "WiC.jsonl": ServerFile("wic", "test", 1_400, _lower),
    "WSC.jsonl": ServerFile("wsc", "test", 146, _name),
    "AX-b.jsonl": ServerFile("superglue_rte", "axb", 1_104, _name),
    "AX-g.jsonl": ServerFile("superglue_rte", "axg", 356, _name),
}
BENCHMARKS: dict[str, Mapping[str, ServerFile]] = {"glue": GLUE, "superglue": SUPERGLUE}
