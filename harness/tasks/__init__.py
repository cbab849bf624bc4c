"""AXIS: tasks, versioned suites of them, metrics, and zero-shot probes.

How a model is adapted to a task is in `harness.finetuning`; how scores of several tasks are
averaged and compared is in `harness.analysis`.
"""

from harness.tasks.benchmarks import REAL_SUITES, REAL_TASKS
from harness.tasks.micro import MICRO_SUITES, MICRO_TASKS
from harness.tasks.task import Suite, Task

TASKS: dict[str, Task] = {task.name: task for task in (*REAL_TASKS, *MICRO_TASKS)}

SUITES: dict[str, Suite] = {suite.name: suite for suite in (*REAL_SUITES, *MICRO_SUITES)}
