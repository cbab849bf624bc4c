"""The Lightning loggers that `compute.loggers` names. Planning reads the names, so nothing heavy is
imported before a logger is made."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.config import unknown_name
from harness.core.errors import MemberError
from harness.core.names import file_name

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger


LONGEST_RUN = 100
"""Characters of a run from which on its path has a digest: file systems allow 255 bytes."""


@dataclass(frozen=True)
class LogTarget:
    """Where the loggers of one training run write."""

    history: Path
    """File of the metric histories of the stage; see `harness.pretraining.history_file`."""
    folder: Path
    """Folder of all other loggers, in the store."""
    experiment: str
    run: str
    """Kind and label of the stage, for people."""
    key: str
    """Key of the stage: the same after a resume."""
    prefix: str = ""
    """Of one of several training runs of a stage, such as the trials of a search: `trial_3/`."""

    @property
    def path(self) -> str:
        """Experiment and run as a relative path, without characters that paths forbid."""
        run = re.sub(r"[^\w.,= +-]", "_", f"{self.run}, {self.prefix}".rstrip(", /"))
        return f"{self.experiment}/{run if len(run) <= LONGEST_RUN else file_name(run)}"


def _history(target: LogTarget) -> "Logger":
    """Live metrics in the study's MLflow experiment."""
    from harness.pretraining.history import HistoryLogger

    return HistoryLogger(target.history, target.prefix)


def _tensorboard(target: LogTarget) -> "Logger":
    """Event files below logs/tensorboard of the store, for TensorBoard."""
    from pytorch_lightning.loggers import TensorBoardLogger

    # The key keeps the curves of other settings under the same label apart.
    name = f"{target.path} {target.key[:8]}"
    return TensorBoardLogger(target.folder / "tensorboard", name=name, version="")


def _csv(target: LogTarget) -> "Logger":
    """metrics.csv per run below logs/csv of the store, by Lightning."""
    from pytorch_lightning.loggers import CSVLogger

    # Without a version: CSVLogger deletes the rows that an interrupted run left in its folder.
    return CSVLogger(target.folder / "csv", name=target.path)


def _wandb(target: LogTarget) -> "Logger":
    """Runs of Weights & Biases, in a project named as the experiment."""
    from pytorch_lightning.loggers import WandbLogger

    class FinishedWandbLogger(WandbLogger):
        """Finishes its run with the training: processes run several stages, and a logger continues
        the run that is open in its process."""

        def finalize(self, status: str) -> None:
            super().finalize(status)
            if self._experiment is not None:
                self._experiment.finish(exit_code=0 if status == "success" else 1)
                self._experiment = None

    run = f"{target.key}-{target.prefix}".rstrip("-/")
    return FinishedWandbLogger(
        project=target.experiment, name=target.path, id=run, save_dir=target.folder, resume="allow"
    )


LOGGERS: dict[str, Callable[[LogTarget], "Logger"]] = {
    "mlflow": _history,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "csv": _csv,
}
"""Name to a function that makes a Lightning logger; `mlflow` writes a file, which the executor
copies to MLflow."""
PACKAGES = {"tensorboard": "tensorboard", "wandb": "wandb"}
"""Name to the package that the logger needs and the harness does not."""


def make_logger(name: str, target: LogTarget) -> "Logger":
    """A logger of LOGGERS.

    Raises:
        MemberError: that of a plug-in is not a Lightning logger.
    """
    from pytorch_lightning.loggers import Logger

    made: object = LOGGERS[name](target)
    if not isinstance(made, Logger):
        given = type(made).__name__
        raise MemberError(
            f"the logger {name!r} must be a Lightning logger, not {given}", LOGGERS[name]
        )
    return made


def unavailable_reason(name: str) -> str | None:
    """Why a logger cannot be used: an unknown name, or a missing package; null if it can."""
    if name not in LOGGERS:
        return unknown_name("the logger", name, LOGGERS)
    package = PACKAGES.get(name)
    if package and find_spec(package) is None:
        return f"the logger {name} needs the package {package}, which is not installed"
    return None
