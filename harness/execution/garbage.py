"""Finished stages and unfinished work that no experiment refers to."""

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from harness.execution.job import Workspace
from harness.store.artifacts import folder_size, local_size
from harness.store.entries import NAME, Entry
from harness.store.recorded import recorded_experiments
from harness.store.store import StageResult, Store

DEFAULT_DAYS = 14.0
"""Age below which nothing is removed, as by `git gc`: an experiment that was interrupted before
its first end is not recorded yet."""
RECORDING_SECONDS = 3600.0
"""What was begun since may be recorded now."""


@dataclass(frozen=True)
class Garbage:
    """What can be removed."""

    store: Store
    stages: tuple[StageResult, ...]
    work: tuple[Path, ...]
    """Folders of unfinished stages."""
    uncounted: tuple[Entry, ...] = ()
    """Runs whose recording was interrupted, or that are damaged and marked as failed."""

    def __bool__(self) -> bool:
        return bool(self.stages or self.work or self.uncounted)

    @property
    def num_bytes(self) -> int:
        """Bytes on this machine; the files of a server do not count."""
        addresses = [one.artifact_uri for one in self.stages]
        addresses += [one.artifact_uri for one in self.uncounted]
        return sum(map(local_size, addresses)) + sum(map(folder_size, self.work))

    def remove(self, progress: Iterable[StageResult] | None = None) -> None:
        """Removes it.

        Args:
            progress: the stages, shown as they are taken from it.
        """
        for one in progress or self.stages:
            self.store.remove(one)
        for run in self.uncounted:
            self.store.remove(run)
        for folder in self.work:
            rmtree(folder, ignore_errors=True)


def find_garbage(store: Store, kept: Collection[str] = (), days: float = DEFAULT_DAYS) -> Garbage:
    """The stages, and the unfinished work, to which neither a recorded experiment nor a stage that
    one refers to refers, and what is left of runs that are no results.

    Args:
        kept: keys of further stages to keep, with all stages before them.
        days: age from which something counts.

    Raises:
        ValueError: no experiment is recorded and nothing else is kept, the record of one is
            damaged, or stages are computed now.
    """
    workspace, finished = Workspace(store.root), store.finished()
    folders = [path for path in (store.root / "work").glob("*") if path.is_dir()]
    if running := [path.name for path in folders if workspace.is_leased(path.name)]:
        raise ValueError(
            f"no stage of the store may be computed meanwhile, but {len(running)} are; wait for "
            "their end"
        )
    experiments = recorded_experiments(store)
    if damaged := [one.name for one in store.runs.left_out.values() if NAME in one.entry.tags]:
        raise ValueError(
            "all experiments must be intact, so that it is known which stages they refer to, but "
            f"{', '.join(damaged)} is damaged: run it again"
        )
    if not experiments and not kept:
        raise ValueError(
            f"the store {store.place} must have a recorded experiment, but has none; name the "
            "experiment files whose stages to keep"
        )
    wanted = set(kept).union(*(one.stages for one in experiments))
    needed = _with_parents(store, finished, wanted)
    oldest = time.time() - 86_400 * days
    stages = [
        one for key, one in finished.items() if key not in needed and one.recorded <= 1000 * oldest
    ]
    work = [path for path in folders if path.name not in wanted and _last_change(path) <= oldest]
    latest = min(oldest, time.time() - RECORDING_SECONDS)
    uncounted = [one for one in store.uncounted() if one.start_time <= 1000 * latest]
    return Garbage(store, tuple(stages), tuple(work), tuple(uncounted))


def _with_parents(
    store: Store, finished: dict[str, StageResult], wanted: Collection[str]
) -> set[str]:
    """The finished ones of some stages, and all that their results were computed from."""
    needed: set[str] = set()
    level = [finished[key] for key in wanted if key in finished]
    while level:
        needed.update(one.key for one in level)
        specs = store.specs(level).values()
        parents = {parent for spec in specs for parent in (spec.get("parents") or {}).values()}
        level = [finished[key] for key in parents - needed if key in finished]
    return needed


def _last_change(folder: Path) -> float:
    """Unix time of the latest change of a file below a folder."""
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
