"""A stage on another machine, in the surroundings of the process that submitted it."""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from harness.core.secrets import mask
from harness.execution.devices import uses_devices
from harness.execution.job import Node, StageJob, StageOutput, Workspace
from harness.execution.worker import follow_stage, run_stage
from harness.execution.worker_process import limit_threads

FORWARDED = ("HARNESS_DATA", "HARNESS_SERVER_SECONDS", "MLFLOW_TRACKING_URI", "OMP_WAIT_POLICY")
"""Environment variables that stages read; a node has others of its own."""

Surroundings = tuple[int, list[str], Path, dict[str, str]]
"""CPU threads, `sys.path`, working directory, and variables of the environment."""


def nodes_of(job: StageJob) -> list[Node]:
    """The nodes that compute a stage together, the first of which leads."""
    attempt = uuid4().hex
    number = job.compute.num_nodes if uses_devices(job) else 1
    return [Node(index, attempt) for index in range(number)]


def surroundings(threads: int, in_files: bool = False) -> Surroundings:
    """The last arguments of `compute_stage` for a stage with so many CPU threads.

    Args:
        in_files: whether they are written to files, which hold no variable with a secret.
    """
    environment = {name: os.environ[name] for name in FORWARDED if name in os.environ}
    if in_files:
        environment = {name: text for name, text in environment.items() if text == mask(text)}
    return threads, sys.path, Path.cwd(), environment


def compute_stage(
    job: StageJob,
    workspace: Workspace,
    node: Node,
    threads: int,
    import_path: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
) -> StageOutput | None:
    """Computes a stage on a node, or takes part in one that another node leads. The process imports
    plug-ins and reads relative paths as the one that submitted the stage.

    Args:
        import_path: `sys.path` of the process that submitted it.
        folder: its working directory.
        environment: variables of its environment.

    Raises:
        ValueError: the node does not have the folder of the store.
        Exception: whatever the stage raises; see `run_stage`.
    """
    if not workspace.root.exists():
        raise ValueError(
            f"{workspace.root}, the folder of the store, must be shared by all nodes, but the node "
            f"{platform.node()} does not have it: give --store a folder that it has"
        )
    if folder.is_dir():
        os.chdir(folder)
    sys.path.extend(one for one in import_path if one not in sys.path)
    os.environ.update(environment)
    limit_threads(threads)
    if node.index:
        follow_stage(job, workspace, node)
        return None
    return run_stage(job, workspace, node.attempt)
