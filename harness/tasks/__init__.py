"""AXIS: what pretrained models are judged on: tasks, and versioned suites of them."""

from harness.tasks.micro_suites import MICRO_SUITES, MICRO_TASKS
from harness.tasks.suites import REAL_SUITES, REAL_TASKS
from harness.tasks.task import (
    Column,
    FileData,
    HubData,
    MicroworldData,
    Prompt,
    Split,
    Suite,
    Task,
)

TASKS: dict[str, Task] = {task.name: task for task in (*REAL_TASKS, *MICRO_TASKS)}

SUITES: dict[str, Suite] = {suite.name: suite for suite in (*REAL_SUITES, *MICRO_SUITES)}

__all__ = [
    "SUITES",
    "TASKS",
    "Column",
    "FileData",
    "HubData",
    "MicroworldData",
    "Prompt",
    "Split",
    "Suite",
    "Task",
]
