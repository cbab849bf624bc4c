"""What a run takes beside the work of its stages, remembered from run to run on each machine."""

from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from harness.core.config import ConfigModel
from harness.core.files import write_atomically
from harness.execution.provenance import machine

FILE = "run_times.json"
"""Name of the file in a store's folder."""


class RunTimes(ConfigModel):
    """Seconds of a run beside its stages; the defaults are those of a slow laptop."""

    startup: float = 12.0
    """In which a worker imports torch, Lightning and transformers."""
    overhead: float = 0.35
    """Between two stages of a worker, of which recording is most."""
    closing: float = 2.0
    """From the last stage to the end of a run, in which MLflow's pages are completed."""


CONTENT = TypeAdapter(dict[str, dict[str, RunTimes]])
"""Content of the file: machine to executor to times."""


def learned_run_times(root: Path, executor: str) -> RunTimes:
    """The times of the last run of this machine in a store, the defaults before its first.

    Args:
        root: folder of the store.
        executor: name of the backend: workers of a cluster start otherwise than processes.
    """
    return _read(root).get(machine(), {}).get(executor, RunTimes())


def remember_run_times(root: Path, executor: str, times: RunTimes) -> None:
    """Keeps the times of a run for the estimates of the next, which alone need them, if the disk
    takes them. Of two runs that end at once, one is kept."""
    content = _read(root)
    content.setdefault(machine(), {})[executor] = times
    with suppress(OSError):
        write_atomically(root / FILE, CONTENT.dump_json(content, indent=1).decode())


def _read(root: Path) -> dict[str, dict[str, RunTimes]]:
    try:
        return CONTENT.validate_json((root / FILE).read_bytes())
    except (OSError, ValueError):  # missing, damaged or of another version
        return {}
