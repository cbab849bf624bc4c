"""Brings a snapshot up to date with MLflow's tables or server."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.store.entries import Entry
from harness.store.mlflow_tables import finished_runs, read_entries
from harness.store.snapshot import Row, Snapshot

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

CLOCKS = 600_000
"""Milliseconds by which the clocks of machines that share a server may differ."""


Found = tuple[list[Row], list[Entry]]
"""Finished runs, and those of them that are damaged, which no snapshot keeps: someone may restore
MLflow's tables."""


def rows_from_tables(snapshot: Snapshot, database: Path, experiment: str) -> Found:
    """The finished runs of a local store: those of the snapshot, to which new ones are added, and
    from which those are dropped that no longer count.

    Raises:
        sqlite3.DatabaseError: see `harness.store.mlflow_tables`.
    """
    known = snapshot.rows()  # read first: other processes may add runs in between
    present = finished_runs(database, experiment)
    gone = [run for run, row in known.items() if present.get(run) != row.end_time]
    new = [run for run, end in present.items() if run not in known or known[run].end_time != end]
    return _updated(snapshot, known, gone, read_entries(database, new) if new else [])


def rows_from_server(snapshot: Snapshot, server: "Server") -> Found:
    """As `rows_from_tables`; of a server, only the runs that have finished since the last update
    are fetched.

    Raises:
        OSError: the server fails.
    """
    known = snapshot.rows()
    ends = {run: row.end_time for run, row in known.items()}
    latest = max(ends, key=ends.__getitem__, default=None)
    stale = bool(latest) and not server.has(str(latest))  # other tables at the same address
    since = CLOCKS if stale else max(ends.values(), default=CLOCKS)
    finished, failed = server.ended_since(since - CLOCKS)
    gone = list(known) if stale else [run for run in failed if run in known]
    kept = {} if stale else ends
    new = [one for one in finished if kept.get(one.run_id) != one.end_time]
    return _updated(snapshot, known, gone, new)


def _updated(
    snapshot: Snapshot, known: dict[str, Row], gone: Collection[str], new: Sequence[Entry]
) -> Found:
    intact = [Row.of(one, snapshot.marks) for one in new if one.is_intact]
    if gone or intact:
        snapshot.update(gone, intact)
    dropped = {*gone, *(one.run_id for one in new)}
    kept = [row for run, row in known.items() if run not in dropped]
    return [*kept, *intact], [one for one in new if not one.is_intact]
