"""The metrics of a stage as points of MLflow's histories."""

from collections.abc import Iterable

from harness.execution.job import HISTORY, Workspace
from harness.pretraining.history_file import STEP, TIME, readable_lines
from harness.store.artifacts import read_file
from harness.store.entries import Point
from harness.store.store import StageResult


def read_history(key: str, result: StageResult | None, workspace: Workspace) -> bytes:
    """The complete lines that a stage has logged; the file of an unfinished stage grows.

    Args:
        result: null if the stage is unfinished.
    """
    try:
        if result:
            content = read_file(result.artifact_uri, HISTORY)
        else:
            content = workspace.history(key).read_bytes()
    except OSError:  # it has logged nothing
        return b""
    return content[: content.rfind(b"\n") + 1]


def points(lines: bytes) -> list[Point]:
    """The points of the readable lines of a history."""
    found = []
    for line in readable_lines(lines):
        step, time = int(line.pop(STEP)), int(line.pop(TIME))
        found += [Point(name, value, time, step) for name, value in line.items()]
    return found


def final_points(result: StageResult, logged: Iterable[str]) -> list[Point]:
    """The metrics of a result, at step 0 and the time at which it was recorded.

    Args:
        logged: names of metrics with a history of their own.
    """
    own = set(logged)
    return [
        Point(name, value, result.recorded, 0)
        for name, value in result.metrics.items()
        if name not in own
    ]
