"""Metric histories: a file of the metrics that a stage logs while it trains.

One JSON object per line: `step`, `time` (milliseconds since 1970) and metrics. The executor copies
complete lines to MLflow; training itself never waits for a database.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

STEP, TIME = "step", "time"
"""Fields of a line besides its metrics."""


def append_line(path: Path, step: int, values: Mapping[str, float]) -> None:
    """Adds the values of metrics at a step."""
    line = {STEP: step, TIME: int(time.time() * 1000), **values}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def readable_lines(content: bytes) -> Iterator[dict[str, float]]:
    """The lines of a history; without those that were damaged on the disk, as nothing but a curve
    depends on them."""
    for text in content.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and line.keys() >= {STEP, TIME}:
            yield line


def last_steps(path: Path) -> dict[str, int]:
    """Metric to its last step. Damaged lines, and the remains of one that a kill interrupted, are
    removed."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    lines = list(readable_lines(content[: content.rfind(b"\n") + 1]))
    complete = "".join(json.dumps(line) + "\n" for line in lines).encode()
    if complete != content:
        path.write_bytes(complete)
    last: dict[str, int] = {}
    for line in lines:
        last.update(dict.fromkeys(line.keys() - {STEP, TIME}, int(line[STEP])))
    return last
