"""When expectations of an experiment were declared: before its results, or after some of them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from harness.core.checked_files import read_checked, write_checked
from harness.core.names import file_name

FOLDER = "declared"


@dataclass(frozen=True)
class Declared:
    """The first run of an experiment with an expectation."""

    time: str
    """ISO 8601, UTC."""
    finished: int | None
    """Stages with results for it that had finished by then; null if it is not known."""
    planned: int
    """Stages with results for it that were planned."""


def record_declared(
    root: Path, experiment: str, found: Iterable[tuple[str, int | None, int]]
) -> None:
    """Keeps when expectations were declared first; those that are known stay as they are. In a
    store that is only read, nothing is kept.

    Args:
        root: folder of the store.
        found: expectation, and its numbers of finished and planned stages.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    first = {text: Declared(now, finished, planned) for text, finished, planned in found}
    keep_declared(root, experiment, first)


def keep_declared(root: Path, experiment: str, found: Mapping[str, Declared]) -> None:
    """Keeps the first run of each expectation, as `record_declared`."""
    path = _path(root, experiment)
    if path.exists() and found.keys() <= read_declared(root, experiment).keys():
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{FOLDER}.lock"):  # another run may add some at the same time
            every = {**found, **read_declared(root, experiment)}
            write_checked(path, {text: asdict(one) for text, one in every.items()})


def is_recorded(root: Path, experiment: str) -> bool:
    """Whether expectations of an experiment are kept, if only that it has none."""
    return _path(root, experiment).exists()


def read_declared(root: Path, experiment: str) -> dict[str, Declared]:
    """Expectation to its first run; empty if it is not known, or the file cannot be read."""
    try:
        content = read_checked(_path(root, experiment)) or {}
        return {text: Declared(**one) for text, one in content.items()}
    except (OSError, TypeError):  # it cannot be read, or has other fields
        return {}


def _path(root: Path, experiment: str) -> Path:
    return root / FOLDER / f"{file_name(experiment)}.json"
