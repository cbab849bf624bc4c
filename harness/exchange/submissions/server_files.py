"""The files that the servers of GLUE and SuperGLUE take: names, sizes and labels.

As in `jiant` (nyu-mll/jiant, `scripts/benchmarks` and each task's `super_glue_format_preds`), which
the authors of both benchmarks submitted with; WSC alone writes True and False with a capital.
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
    return max(int(prediction), 0)  # an answer that is no class: the server takes classes only


def _name(task: Task, prediction: Any) -> str:
    return task.labels[_number(task, prediction)]


def _lower(task: Task, prediction: Any) -> str:
    return _name(task, prediction).lower()


def _score(task: Task, prediction: Any) -> str:
    return f"{np.clip(np.nan_to_num(float(prediction)), 0, 5):.3f}"


def _text(task: Task, prediction: Any) -> str:
    return str(prediction)


@dataclass(frozen=True)
class Wanted:
    """A file that the server expects."""

    task: str
    split: str
    rows: int
    """Examples of the whole split: a file with fewer is refused."""
    label: Callable[[Task, Any], Any]


GLUE: dict[str, Wanted] = {
    "CoLA.tsv": Wanted("cola", "test", 1_063, _number),
    "SST-2.tsv": Wanted("sst2", "test", 1_821, _number),
    "MRPC.tsv": Wanted("mrpc", "test", 1_725, _number),
    "STS-B.tsv": Wanted("stsb", "test", 1_379, _score),
    "MNLI-m.tsv": Wanted("mnli", "test_matched", 9_796, _name),
    "MNLI-mm.tsv": Wanted("mnli", "test_mismatched", 9_847, _name),
    "QNLI.tsv": Wanted("qnli", "test", 5_463, _name),
    "QQP.tsv": Wanted("qqp", "test", 390_965, _number),
    "RTE.tsv": Wanted("rte", "test", 3_000, _name),
    "WNLI.tsv": Wanted("wnli", "test", 146, _number),
    "AX.tsv": Wanted("mnli", "test", 1_104, _name),
}
SUPERGLUE: dict[str, Wanted] = {
    "BoolQ.jsonl": Wanted("boolq", "test", 3_245, _lower),
    "CB.jsonl": Wanted("cb", "test", 250, _name),
    "COPA.jsonl": Wanted("copa", "test", 500, _number),
    "MultiRC.jsonl": Wanted("multirc", "test", 9_693, _number),
    "ReCoRD.jsonl": Wanted("record", "test", 10_000, _text),
    "RTE.jsonl": Wanted("superglue_rte", "test", 3_000, _name),
    "WiC.jsonl": Wanted("wic", "test", 1_400, _lower),
    "WSC.jsonl": Wanted("wsc", "test", 146, _name),
    "AX-b.jsonl": Wanted("superglue_rte", "axb", 1_104, _name),
    "AX-g.jsonl": Wanted("superglue_rte", "axg", 356, _name),
}
BENCHMARKS: dict[str, Mapping[str, Wanted]] = {"glue": GLUE, "superglue": SUPERGLUE}
