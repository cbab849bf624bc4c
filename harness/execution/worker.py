"""Computes one stage in its work folder."""

import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from filelock import SoftFileLease

from harness.core.checked_files import read_checked, write_checked
from harness.core.files import write_atomically
from harness.core.memory import cycles_freed, peak_memory, reset_peak_memory
from harness.core.secrets import mask
from harness.execution.devices import one_node_problem, uses_devices
from harness.execution.job import ERROR, HISTORY, Node, StageJob, StageOutput, Workspace
from harness.execution.lease import LeaseLostError, held
from harness.execution.provenance import made_with
from harness.execution.time_left import RESUMED_AT, STAGE_SECONDS
from harness.experiment import plugins
from harness.pretraining.loggers import LogTarget, make_logger
from harness.store.artifacts import digest, local_folder

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger

Metrics = dict[str, float | None]
FILES = "files"
"""Field of `result.json` with the digest of the files."""
REPORT_SECONDS = 0.3
"""Least time between two progress reports of a stage."""


@cycles_freed()
def run_stage(
    job: StageJob, workspace: Workspace, attempt: str | None = None
) -> StageOutput | None:
    """Computes one stage, unless its work folder holds its result.

    Its lease keeps other processes from computing the same stage. A process that lost the lease
    stops at its next progress report, and its files are dropped.

    Args:
        attempt: what the other nodes of a stage on several were given; null: a stage on one.

    Returns:
        The output, with its files in `workspace.output`; null if another process has computed and
        recorded the stage.

    Raises:
        LeaseHeldError: another process computes the stage.
        LeaseLostError: another process took over the stage.
        PluginError: an error in the code of a plug-in.
        Exception: whatever else the stage raises. The traceback is in `error.txt`.
    """
    folder = workspace.folder(job.key)
    folder.mkdir(parents=True, exist_ok=True)
    with held(workspace.lease(job.key)) as lease:
        result, out = workspace.result(job.key), workspace.output(job.key)
        if workspace.is_cleaned(job.key):
            return None
        if output := _ended(workspace, job.key):
            return output
        result.unlink(missing_ok=True)  # it is damaged
        workspace.log("start", job.key)
        (folder / ERROR).unlink(missing_ok=True)  # of an earlier attempt
        rmtree(out, ignore_errors=True)
        workspace.clean_drafts(job.key)
        draft = workspace.draft(job.key, str(lease.token))
        draft.mkdir()
        workspace.state(job.key).mkdir(exist_ok=True)
        try:
            metrics = _compute_on_devices(job, workspace, draft, partial(_check, lease), attempt)
            _check(lease)
            draft.replace(out)
        except Exception as error:  # whatever a stage raises is kept for the user
            _check(lease)
            line = plugins.error_line(error)
            text = "\n".join([traceback.format_exc(), line or _joined_lines(error)])
            (folder / ERROR).write_text(mask(text))
            if line:  # the user's own exceptions may not pass between processes
                raise plugins.PluginError(line) from error
            raise
        output = StageOutput(metrics, made_with())
        write_checked(result, {**asdict(output), FILES: digest(out)})
        workspace.log("finish", job.key)
        return output


def _joined_lines(error: Exception) -> str:
    """An error of several lines in one, as the last of them alone, such as advice on how to build
    torch, does not say what happened; empty for others."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    return " ".join(line.strip() for line in lines).strip() if len(lines) > 1 else ""


def _ended(workspace: Workspace, key: str) -> StageOutput | None:
    """The output of a stage that ended, but was not recorded; null if it did not, or if its files
    are damaged."""
    found = read_checked(workspace.result(key))
    if found is None or found.pop(FILES, "") not in ("", digest(workspace.output(key))):
        return None
    return StageOutput(**found)


def _check(lease: SoftFileLease) -> None:
    if lease.compromise:
        raise LeaseLostError(f"{lease.lock_file}: {lease.compromise.reason}")


def follow_stage(job: StageJob, workspace: Workspace, node: Node) -> None:
    """Takes part in a pretraining stage that the first of several nodes computes by `run_stage`.

    Raises:
        TimeoutError: the first node has not begun.
    """
    from harness.execution.nodes import follow

    compute = partial(_compute, workspace=workspace, out=workspace.draft(job.key, node.attempt))
    folder = workspace.nodes(job.key, node.attempt)
    follow(compute, job, folder, node, partial(workspace.is_leased, job.key))


def _compute_on_devices(
    job: StageJob, workspace: Workspace, out: Path, check: Callable[[], None], attempt: str | None
) -> Metrics:
    """As `_compute`, by a process for each device of a pretraining run."""
    from harness.execution.nodes import lead
    from harness.pretraining.distributed import num_devices

    num_nodes = job.compute.num_nodes
    if not uses_devices(job) or num_devices(job.compute) * num_nodes == 1:
        return _compute(job, workspace=workspace, out=out, check=check)
    if attempt is None and num_nodes > 1:
        raise ValueError(one_node_problem(job.compute))
    function = partial(_compute, workspace=workspace, out=out)
    if attempt is None:
        with TemporaryDirectory() as folder:
            return lead(function, job, Path(folder), check)
    workspace.nodes(job.key, attempt).mkdir()
    return lead(function, job, workspace.nodes(job.key, attempt), check)


def _compute(
    job: StageJob,
    rank: int = 0,
    *,
    workspace: Workspace,
    out: Path,
    check: Callable[[], None] = lambda: None,
) -> Metrics:
    """Metrics of a stage, with its duration and peak memory; its files are in `out`.

    Args:
        rank: of this process among those that compute the stage; 0 alone reports and logs.
        check: called with each report of progress.
    """
    for name in job.plugins:  # in the declared order: one may name members of another
        plugins.load_plugin(name)
    plugins.require(job.spec.get("plugins", {}))
    from harness.execution.stages import STAGES  # for seconds, after what may fail at once
    from harness.execution.stages.context import StageContext

    path = workspace.folder(job.key) / "progress.json"
    progress = Reporter(path if rank == 0 else None, check)
    context = StageContext(
        spec=job.spec,
        inputs={role: local_folder(artifact) for role, artifact in job.inputs.items()},
        out=out,
        state=workspace.state(job.key),
        shared=workspace.root,
        compute=job.compute,
        progress=progress,
        loggers=partial(_loggers, job, workspace) if rank == 0 else lambda prefix="": (),
    )
    begin = time.perf_counter()
    reset_peak_memory()
    _bound_gpu_memory(job)
    metrics = STAGES[job.kind](context)
    if rank == 0 and workspace.history(job.key).exists():
        copyfile(workspace.history(job.key), out / HISTORY)
    seconds = time.perf_counter() - begin  # of pretraining, "seconds" are those of its updates
    metrics = {"seconds": seconds, **metrics, **peak_memory(), STAGE_SECONDS: seconds}
    if progress.resumed_at:
        metrics[RESUMED_AT] = progress.resumed_at
    return metrics


def _bound_gpu_memory(job: StageJob) -> None:
    """Leaves to the other stages on a GPU their part of its memory, which nothing else does."""
    resources = job.compute.resources
    if resources.shares_gpus:
        from torch import cuda

        if cuda.is_available():  # whole for a kind that shares none, after one that did
            cuda.set_per_process_memory_fraction(resources.of(job.kind).gpus or 1.0)


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
    return [make_logger(name, target) for name in job.compute.loggers]


class Reporter:
    """Writes progress to `path`, if given, at most once every REPORT_SECONDS."""

    def __init__(self, path: Path | None, check: Callable[[], None] = lambda: None) -> None:
        """A reporter.

        Args:
            check: called with each report; raises an error if the stage must stop.
        """
        self.path, self.check, self.last = path, check, 0.0
        self.resumed_at = 0.0
        """Share of the updates that an earlier attempt has done."""

    def __call__(self, done: int, total: int, **figures: float) -> None:
        """Reports updates done of all."""
        self.check()
        if not self.last:  # the first report follows the first update of this attempt
            self.resumed_at = max(0, done - 1) / max(1, total)
        if time.monotonic() - self.last > REPORT_SECONDS or done == total:
            self.last = time.monotonic()
            if self.path:
                write_atomically(self.path, json.dumps({"done": done, "total": total, **figures}))
