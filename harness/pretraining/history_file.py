"""Metric histories: a file of the metrics that a stage logs while it trains.

One JSON object per line: `step`, `time` (milliseconds since 1970) and metrics. The executor copies
complete lines to MLflow; training itself never waits for a database.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

STEP, TIME = "step", "time"
"""Fields of a line besides its metrics."""


def append_line(path: Path, step: int, values: Mapping[str, float]) -> None:
    """Adds the values of metrics at a step."""
    line = {STEP: step, TIME: int(time.time() * 1000), **values}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def last_steps(path: Path) -> dict[str, int]:
    """Metric to its last step. The remains of a line that a kill interrupted are removed, and
    damaged lines."""
    if not path.exists():
        return {}
    content, kept = path.read_bytes(), []
    last: dict[str, int] = {}
    for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
        with suppress(ValueError, KeyError, AttributeError):
            point = json.loads(line)
            last.update(dict.fromkeys(point.keys() - {STEP, TIME}, int(point[STEP])))
            kept.append(line)
    if sum(map(len, kept)) < len(content):
        path.write_bytes(b"".join(kept))
    return last
