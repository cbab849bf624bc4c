"""Where stages are computed. A backend is one file here and one line in BACKENDS."""

from harness.execution.backends.backend import Backend
from harness.execution.backends.processes import ProcessBackend
from harness.execution.backends.serial import SerialBackend

BACKENDS: dict[str, type[Backend]] = {"processes": ProcessBackend, "serial": SerialBackend}
"""Name, as `--executor` takes it, to class: (workspace, jobs) to a backend."""
DEFAULT_BACKEND = "processes"
