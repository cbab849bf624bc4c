"""Checks of the store's folder, tables and snapshot."""

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from rich.filesize import decimal

from harness.execution.health.finding import Finding
from harness.execution.health.machine import GB
from harness.store.entries import KIND
from harness.store.finished_runs import ARTIFACTS, DATABASE, EXPERIMENT
from harness.store.schema import schema_problem

LITTLE_DISK, TOO_LITTLE_DISK = 5 * GB, GB // 2
SHARED = ("nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "glusterfs", "fuse.sshfs")
"""File systems on which SQLite may be damaged by several machines."""
STAGES = """
    select status, tags.value from runs join experiments using (experiment_id)
        join tags using (run_uuid)
    where experiments.name = ? and tags.key = ? and runs.lifecycle_stage = 'active'
"""
MOUNTS = Path("/proc/mounts")
BACKUP = "restore it from a backup, or move the folder away: all is computed again"


def check_disk(store: Path) -> Finding:
    """Free space where results and temporary files are written."""
    places = dict.fromkeys((_existing(store), Path(tempfile.gettempdir())))
    free = {place: shutil.disk_usage(place).free for place in places}
    found = ", ".join(f"{decimal(size)} free in {place}" for place, size in free.items())
    least = min(free.values())
    if least >= LITTLE_DISK:
        return Finding("ok", found)
    advice = "free space ('harness gc' lists stages that no experiment needs), or move the store"
    return Finding("problem" if least < TOO_LITTLE_DISK else "warning", found, advice)


def check_store(store: Path) -> Finding:
    """The folder of the store, and MLflow's tables in it."""
    place, database = _existing(store), store / DATABASE
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding("problem", f"{place} is not writable", "choose another --store")
    if os.environ.get("MLFLOW_TRACKING_URI"):
        return Finding("ok", f"tables on a server, unfinished stages in {store.absolute()}")
    if not database.exists():
        return Finding("ok", f"empty: {store.absolute()}")
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as one:
            states = Counter(state for state, _ in one.execute(STAGES, (EXPERIMENT, KIND)))
        problem = schema_problem(database.absolute())
    except (sqlite3.DatabaseError, ValueError) as error:
        return Finding("problem", f"{database} cannot be read: {error}", BACKUP)
    found = f"{states['FINISHED']:,} finished stages in {store.absolute()}"
    if problem:
        return Finding("problem", *problem)
    if states["FINISHED"] and not (store / ARTIFACTS).is_dir():
        return Finding("problem", f"{found}, but no files: {store / ARTIFACTS} is missing", BACKUP)
    if (kind := file_system(place)) in SHARED:
        advice = "set MLFLOW_TRACKING_URI to a server if several machines use it (docs/server.md)"
        return Finding("warning", f"{found}, on {kind}", advice)
    return Finding("ok", found)


def check_snapshot(store: Path) -> Finding:
    """The caches of finished runs, which are made again."""
    sizes = {}
    for path in sorted(store.glob("snapshot-*.db")):
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as one:
                ((sizes[path.name],),) = one.execute("select count(*) from runs").fetchall()
        except sqlite3.DatabaseError as error:
            advice = f"rm {path}: the next command makes it again"
            return Finding("warning", f"{path.name} is damaged: {error}", advice)
    rows = ", ".join(f"{name}: {number:,} runs" for name, number in sizes.items())
    return Finding("ok", rows or "none yet")


def file_system(path: Path) -> str:
    """The kind of the file system of a folder, such as ext4; empty if it is not known."""
    if not MOUNTS.exists():
        return ""
    lines = [line.split() for line in MOUNTS.read_text().splitlines()]
    mounts = {Path(words[1].replace(r"\040", " ")): words[2] for words in lines}
    whole = path.resolve()
    return next((mounts[one] for one in (whole, *whole.parents) if one in mounts), "")


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above that exists."""
    whole = path.absolute()
    return next(one for one in (whole, *whole.parents) if one.exists())
