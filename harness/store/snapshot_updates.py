"""Brings a snapshot up to date with MLflow's tables or server."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.store.snapshot import Snapshot, finished_runs, read_entries

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

CLOCKS = 600_000
"""Milliseconds by which the clocks of machines that share a server may differ."""


def update_from_tables(snapshot: Snapshot, database: Path, experiment: str) -> None:
    """Adds the finished runs that are new in a local store, and drops those that no longer count;
    for arguments and errors, see `tracked_runs`."""
    known = snapshot.ends()  # read first: other processes may add runs in between
    present = finished_runs(database, experiment)
    if known == present:
        return
    gone = [run for run, end in known.items() if present.get(run) != end]
    new = [run for run, end in present.items() if known.get(run) != end]
    snapshot.update(gone, read_entries(database, new))


def update_from_server(snapshot: Snapshot, server: "Server") -> None:
    """Adds the runs that have finished on a server since the last update, which alone are fetched,
    and drops those that no longer count.

    Raises:
        OSError: the server fails.
    """
    known = snapshot.ends()
    latest = max(known, key=known.__getitem__, default=None)
    if latest and not server.has(latest):  # other tables at the same address
        snapshot.update(known, [])
        known = {}
    since = max(known.values(), default=CLOCKS) - CLOCKS
    finished, gone = server.ended_since(since)
    new = [one for one in finished if known.get(one.run_id) != one.end_time]
    if known.keys() & set(gone) or new:
        snapshot.update(gone, new)
