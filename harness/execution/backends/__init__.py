"""Execution backends: one file and one entry in BACKENDS each."""

from harness.execution.backends.backend import Backend
from harness.execution.backends.processes import ProcessBackend
from harness.execution.backends.serial import SerialBackend

BACKENDS: dict[str, type[Backend]] = {"processes": ProcessBackend, "serial": SerialBackend}
"""Name (`--executor`) to class, made with (workspace, jobs)."""
DEFAULT_BACKEND = "processes"
