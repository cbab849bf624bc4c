"""AXIS: what pretrained models are judged on: tasks, and versioned suites of them."""

from harness.tasks.glue import GLUE_TASKS, GLUE_V1
from harness.tasks.micro_glue import MICRO_GLUE_TASKS, MICRO_GLUE_V1
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

TASKS: dict[str, Task] = {task.name: task for task in (*GLUE_TASKS, *MICRO_GLUE_TASKS.values())}

SUITES: dict[str, Suite] = {suite.name: suite for suite in (GLUE_V1, MICRO_GLUE_V1)}

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
