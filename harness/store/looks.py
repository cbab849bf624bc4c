"""At which numbers of seeds the verdicts of an experiment have been looked at."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from harness.core.checked_files import read_checked, write_checked
from harness.core.names import file_name

FOLDER = "looks"


@dataclass(frozen=True)
class MadeLook:
    """The first time that verdicts of a number of seeds were shown."""

    time: str
    """ISO 8601, UTC."""
    planned: int
    """Pretraining seeds that were planned then."""
    declared: bool
    """Whether the experiment declared looks then."""


def record_look(root: Path, experiment: str, number: int, planned: int, declared: bool) -> None:
    """Keeps that verdicts of a number of seeds are shown; what is known stays as it is. In a store
    that is only read, nothing is kept.

    Args:
        root: folder of the store.
        planned, declared: as for `MadeLook`.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    keep_looks(root, experiment, {number: MadeLook(now, planned, declared)})


def keep_looks(root: Path, experiment: str, found: Mapping[int, MadeLook]) -> None:
    """Keeps the first look at each number of seeds, as `record_look`."""
    if found.keys() <= read_looks(root, experiment).keys():
        return
    path = _path(root, experiment)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{FOLDER}.lock"):  # another process may make one at the same time
            every = {**found, **read_looks(root, experiment)}
            write_checked(path, {str(number): asdict(one) for number, one in every.items()})


def read_looks(root: Path, experiment: str) -> dict[int, MadeLook]:
    """Number of seeds to the first look at it; empty if none is known, or the file cannot be
    read."""
    try:
        content = read_checked(_path(root, experiment)) or {}
        return {int(number): MadeLook(**one) for number, one in content.items()}
    except (OSError, TypeError, ValueError):  # it cannot be read, or has other fields
        return {}


def _path(root: Path, experiment: str) -> Path:
    return root / FOLDER / f"{file_name(experiment)}.json"
