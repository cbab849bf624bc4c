"""Metric histories: a file of the metrics that a stage logs while it trains.

One JSON object per line: `step`, `time` (milliseconds since 1970) and metrics. The executor copies
complete lines to MLflow; training itself never waits for a database.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

STEP, TIME = "step", "time"
"""Fields of a line besides its metrics."""


def append_line(path: Path, step: int, values: Mapping[str, float]) -> None:
    """Adds the values of metrics at a step."""
    line = {STEP: step, TIME: int(time.time() * 1000), **values}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def last_steps(path: Path) -> dict[str, int]:
    """Metric to its last step. The remains of a line that a kill interrupted are removed."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    if len(complete) < len(content):
        path.write_bytes(complete)
    last: dict[str, int] = {}
    for line in complete.splitlines():
        point = json.loads(line)
        last.update(dict.fromkeys(point.keys() - {STEP, TIME}, point[STEP]))
    return last
