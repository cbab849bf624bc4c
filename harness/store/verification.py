"""Compares all that a store holds with its digests, and marks what is damaged."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.core.cpus import num_cpus
from harness.core.sqlite_files import damage
from harness.store.artifacts import resolve
from harness.store.entries import NAME
from harness.store.store import StageResult, Store

MAX_THREADS = 8
CHANGED = "files are missing or changed"


@dataclass(frozen=True)
class Damage:
    """A damaged part of a store."""

    name: str
    problem: str
    uri: str
    """Of its files."""
    run_id: str = ""
    """Of the run that can be marked as failed, if that is the way to repair it."""
    repair: str = "run its experiment again"
    """What to do besides."""

    @property
    def place(self) -> str:
        """Its files: a path on this machine, or an address."""
        return str(resolve(self.uri)) if self.uri.startswith("file:") else self.uri


def damaged_stages(store: Store, results: Iterable[StageResult]) -> Iterator[StageResult]:
    """The results whose files are missing or changed. Threads read several at a time.

    Raises:
        OSError: files cannot be downloaded, or the folder of all files of the store is missing.
    """
    known = list(results)
    with ThreadPoolExecutor(min(MAX_THREADS, num_cpus())) as threads:
        folders = threads.map(store.fetch, known)
        for one, folder in zip(known, folders, strict=True):
            if folder is None:
                _check_mounted(one.artifact_uri)
                yield one


def _check_mounted(uri: str) -> None:
    """Raises an OSError if the folder of all files is missing, such as a disk that is not mounted:
    nothing is damaged then."""
    if uri.startswith("file:") and not (folder := resolve(uri).parents[1]).is_dir():
        raise OSError(f"{folder} is missing, which has the files of finished stages")


def forget_damaged(store: Store, finished: Mapping[str, StageResult]) -> dict[str, StageResult]:
    """Finished stages by key without damaged ones, which are marked as failed. Files on a server
    count as intact: to download all of them may take long, and they are compared when used.

    Raises:
        OSError: the folder of all files is missing, or the store cannot be written.
    """
    local = [one for one in finished.values() if one.artifact_uri.startswith("file:")]
    damaged = {one.key: one for one in damaged_stages(store, local)}
    for one in damaged.values():
        store.forget(one)
    return {key: one for key, one in finished.items() if key not in damaged}


def find_damage(store: Store, results: Iterable[StageResult]) -> list[Damage]:
    """What is damaged of MLflow's tables in a local store, of finished stages, of recorded
    experiments and of imported results; files on a server are downloaded.

    Args:
        results: of the finished stages, all of which are read.

    Raises:
        OSError: files cannot be downloaded, or no table can be read.
    """
    found = [
        Damage(f"{one.kind} {one.label or one.key}", CHANGED, one.artifact_uri, one.run_id)
        for one in damaged_stages(store, results)
    ]
    store.experiments(), store.imports()  # leave out what is damaged
    for run, one in store.runs.left_out.items():
        # If it failed, it would bring back what was before it, which may differ.
        marked = "" if NAME in one.entry.tags or one.entry.replaced else run
        what = f"{one.damaged} is damaged"
        found.append(Damage(one.name, what, str(one.entry.artifact_uri), marked, one.repair))
    database = store.runs.database
    if not store.runs.uri and database.exists() and (what := damage(database, thorough=True)):
        advice = "replace it by a copy, or remove it, and all stages are computed again"
        found.append(Damage(database.name, what, database.as_uri(), repair=advice))
    return found


def repair(store: Store, found: Iterable[Damage]) -> list[Damage]:
    """Marks damaged runs as failed, so that the next run of an experiment computes them again.

    Returns:
        What can not be repaired so.
    """
    rest = []
    for one in found:
        if one.run_id:
            store.runs.server.fail(one.run_id)
        else:
            rest.append(one)
    return rest
