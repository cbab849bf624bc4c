"""The Lightning logger that writes the metric history of a stage."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from harness.pretraining.history_file import append_line, last_steps


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
        self._last = last_steps(path)

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
            values = {full: float(metrics[name]) for name, full in new.items()}
            append_line(self.path, now, values)
