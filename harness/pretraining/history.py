"""Metric histories: a file of the metrics that a stage logs while it trains.

One JSON object per line: `step`, `time` (milliseconds since 1970) and metrics. The executor copies
complete lines to MLflow; training itself never waits for a database.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from harness.pretraining.loggers import STEP, TIME


class HistoryLogger(Logger):
    """Appends to the history of a stage. A metric keeps its first value at each step, so a resumed
    run, which repeats the updates after its last checkpoint, adds nothing twice."""

    def __init__(self, path: Path, prefix: str = "") -> None:
        """Continues the file if it exists.

        Args:
            prefix: stands before the name of every metric.
        """
        super().__init__()
        self.path, self.prefix = path, prefix
        self._last = _last_steps(path)

    @property
    def name(self) -> str:
        """Name of the logger."""
        return "history"

    @property
    def version(self) -> str:
        """There is one version."""
        return ""

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the settings of a stage are in its run."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Appends the metrics that have no value at this step or a later one.

        Args:
            metrics: Lightning adds its `epoch`, which is left out: a fine-tuning run is one
                Lightning epoch, however many epochs of the examples it has.
            step: number of updates.
        """
        now = step or 0
        names = {name: f"{self.prefix}{name}" for name in metrics if name != "epoch"}
        new = {name: full for name, full in names.items() if self._last.get(full, -1) < now}
        if new:
            self._last.update(dict.fromkeys(new.values(), now))
            line: dict[str, float] = {STEP: now, TIME: int(time.time() * 1000)}
            line |= {full: float(metrics[name]) for name, full in new.items()}
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _last_steps(path: Path) -> dict[str, int]:
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
