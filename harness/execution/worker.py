"""Computes one stage in its work folder."""

import json
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shutil import copyfile, rmtree
from typing import TYPE_CHECKING

from harness.core.files import write_atomically
from harness.execution.job import HISTORY, StageJob, StageOutput, Workspace
from harness.execution.provenance import made_with
from harness.execution.time_left import RESUMED_AT, STAGE_SECONDS
from harness.experiment import plugins
from harness.pretraining.loggers import LOGGERS, LogTarget
from harness.store.artifacts import local_folder

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger

REPORT_SECONDS = 0.3
"""Least time between two progress reports of a stage."""


def run_stage(job: StageJob, workspace: Workspace) -> StageOutput | None:
    """Computes one stage, unless its work folder holds its result.

    The folder is locked against other processes that compute the same stage.

    Returns:
        The output, with its files in `workspace.output`; null if another process has computed and
        recorded the stage.

    Raises:
        PluginError: an error in the code of a plug-in.
        Exception: whatever else the stage raises. The traceback is in `error.txt`.
    """
    folder = workspace.folder(job.key)
    folder.mkdir(parents=True, exist_ok=True)
    with workspace.lock(job.key):
        result = workspace.result(job.key)
        if result.exists():
            if not workspace.output(job.key).exists():
                return None
            return StageOutput(**json.loads(result.read_text()))
        workspace.log("start", job.key)
        (folder / "error.txt").unlink(missing_ok=True)  # of an earlier attempt
        rmtree(workspace.output(job.key), ignore_errors=True)
        workspace.output(job.key).mkdir(parents=True)
        workspace.state(job.key).mkdir(exist_ok=True)
        try:
            metrics = _compute(job, workspace)
        except Exception as error:  # whatever a stage raises is kept for the user
            line = plugins.error_line(error)
            (folder / "error.txt").write_text("\n".join([traceback.format_exc(), line or ""]))
            if line:  # the user's own exceptions may not pass between processes
                raise plugins.PluginError(line) from error
            raise
        output = StageOutput(metrics, made_with())
        write_atomically(result, json.dumps(asdict(output)))
        workspace.log("finish", job.key)
        return output


def _compute(job: StageJob, workspace: Workspace) -> dict[str, float | None]:
    """Metrics of a stage, with its duration; its files are in `workspace.output`."""
    from harness.execution.stages import STAGES
    from harness.execution.stages.context import StageContext

    progress = Reporter(workspace.folder(job.key) / "progress.json")
    context = StageContext(
        spec=job.spec,
        inputs={role: local_folder(artifact) for role, artifact in job.inputs.items()},
        out=workspace.output(job.key),
        state=workspace.state(job.key),
        shared=workspace.root,
        compute=job.compute,
        progress=progress,
        loggers=partial(_loggers, job, workspace),
    )
    begin = time.perf_counter()
    for name in job.plugins:  # in the declared order: one may name members of another
        plugins.load_plugin(name)
    plugins.require(job.spec.get("plugins", {}))
    metrics = STAGES[job.kind](context)
    if workspace.history(job.key).exists():
        copyfile(workspace.history(job.key), context.out / HISTORY)
    seconds = time.perf_counter() - begin  # of pretraining, "seconds" are those of its updates
    metrics = {"seconds": seconds, **metrics, STAGE_SECONDS: seconds}
    if progress.resumed_at:
        metrics[RESUMED_AT] = progress.resumed_at
    return metrics


def _loggers(job: StageJob, workspace: Workspace, prefix: str = "") -> "Sequence[Logger]":
    """New Lightning loggers of one training run of a stage; see `LogTarget` for the prefix."""
    target = LogTarget(
        history=workspace.history(job.key),
        folder=workspace.root / "logs",
        experiment=job.experiment,
        run=f"{job.kind} {job.label}",
        key=job.key,
        prefix=prefix,
    )
    return [LOGGERS[name](target) for name in job.compute.loggers]


class Reporter:
    """Writes progress to `path`, at most once every REPORT_SECONDS."""

    def __init__(self, path: Path) -> None:
        self.path, self.last = path, 0.0
        self.resumed_at = 0.0
        """Share of the updates that an earlier attempt has done."""

    def __call__(self, done: int, total: int, **figures: float) -> None:
        """Reports updates done of all."""
        if not self.last:  # the first report follows the first update of this attempt
            self.resumed_at = max(0, done - 1) / max(1, total)
        if time.monotonic() - self.last > REPORT_SECONDS or done == total:
            self.last = time.monotonic()
            write_atomically(self.path, json.dumps({"done": done, "total": total, **figures}))
