"""Execution backends: one file and one entry in BACKENDS each."""

from harness.execution.backends.backend import Backend
from harness.execution.backends.processes import ProcessBackend
from harness.execution.backends.ray_tasks import RayBackend
from harness.execution.backends.serial import SerialBackend
from harness.execution.backends.slurm import SlurmBackend
from harness.execution.job import Workspace

BACKENDS: dict[str, type[Backend]] = {
    "processes": ProcessBackend,
    "ray": RayBackend,
    "serial": SerialBackend,
    "slurm": SlurmBackend,
}
"""Name (`--executor`) to class, made with (workspace, jobs); see `make_backend`."""
DEFAULT_BACKEND = "processes"
LOCAL_BACKENDS = ("processes", "serial")
"""Those that compute on this machine, whose devices are known before a run."""


def make_backend(
    name: str, workspace: Workspace, jobs: int | None = None, address: str | None = None
) -> Backend:
    """A backend without running stages.

    Args:
        name: a name in `BACKENDS`.
        address: of a Ray cluster; only the backend `ray` has one.

    Raises:
        ValueError: the backend does not support so many jobs, has no address, or is not installed.
    """
    if address is None:
        return BACKENDS[name](workspace, jobs)
    if name != "ray":
        raise ValueError(
            f"an address belongs to the executor ray, but the executor is {name}: add --executor "
            "ray, or omit --address"
        )
    return RayBackend(workspace, jobs, address)
