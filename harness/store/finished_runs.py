"""The runs that a store reads, in MLflow's tables or on a server; damaged ones do not count."""

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from harness.core.files import make_once
from harness.core.sqlite_files import damage, sqlite_uri
from harness.store.entries import IMPORT, KEY, KIND, LABEL, NAME, Entry, TrackedRun
from harness.store.mlflow_tables import find_finished, read_params, tracked_runs, uncounted_runs
from harness.store.moved_folder import correct_addresses, former_address
from harness.store.outages import place_of
from harness.store.schema import schema_problem
from harness.store.snapshot import Snapshot, entries
from harness.store.snapshot_updates import rows_from_server, rows_from_tables

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

EXPERIMENT = "pretraining-harness"
MARKS = (KEY, NAME, IMPORT)
"""Tags that tell stages, experiments and imports apart; their value is the run's name."""
DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"
"""Names of MLflow's tables and of the folder of files."""
SNAPSHOT = "snapshot-3"
"""Begin of the file names of snapshots; the number is raised when their content changes."""
LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class LeftOut:
    """A finished run that does not count."""

    entry: Entry
    damaged: str
    """What of it is damaged."""

    @property
    def name(self) -> str:
        """The run in words."""
        tags = self.entry.tags
        if KEY in tags:
            return f"{tags.get(KIND, 'stage')} {tags.get(LABEL, tags[KEY])}"
        return f"experiment {tags[NAME]}" if NAME in tags else f"import {tags.get(IMPORT, '')}"

    @property
    def repair(self) -> str:
        """What to do."""
        tags = self.entry.tags
        if NAME in tags:
            return "run it again"
        if self.entry.replaced:
            return "its sources are left out until they are imported again with --replace"
        return "run its experiment again" if KEY in tags else "import it again"


class FinishedRuns:
    """The finished runs of a store, and the way to MLflow."""

    def __init__(self, root: Path, uri: str | None) -> None:
        """Corrects addresses in a store that was moved; MLflow's tables, whose creation takes
        seconds, are created when they are needed.

        Args:
            root: folder of the store.
            uri: of a server; null: the tables are below `root`.

        Raises:
            ValueError: `root` cannot be part of an address.
        """
        self.root, self.uri, self.database = root, uri, root / DATABASE
        address = f"-{hashlib.sha256(place_of(uri).encode()).hexdigest()[:16]}" if uri else ""
        self.snapshot = Snapshot(root / f"{SNAPSHOT}{address}.db", MARKS)
        self.left_out: dict[str, LeftOut] = {}
        """Run id to each damaged run that was met."""
        self._foreign = False  # whether the tables are of another version of MLflow
        self._address = uri or sqlite_uri(self.database)
        files = root / ARTIFACTS
        self._former = "" if uri else former_address(self.database, EXPERIMENT, files)
        """Of the files of a store that was moved, but cannot be written."""
        if self._former and correct_addresses(self.database, self._former, files):
            self._former = ""
            self.snapshot.discard()

    @property
    def is_new(self) -> bool:
        """Whether a local store has no tables yet."""
        return not self.uri and not self.database.exists()

    def check_writable(self) -> None:
        """Checks that results can be recorded in the tables, before they are computed.

        Raises:
            ValueError: they cannot.
        """
        if self.uri or self.is_new:
            return
        if not os.access(self.database, os.W_OK):
            raise ValueError(f"{self.database} must be writable, but is not")
        with suppress(sqlite3.DatabaseError):  # reading them says it
            if problem := schema_problem(self.database):
                raise ValueError(f"{self.database} has {problem[0]}: {problem[1]}")

    @cached_property
    def server(self) -> "Server":
        """MLflow; imported only when needed, since the snapshot serves most reads."""
        return self.tracking(EXPERIMENT)

    def tracking(self, experiment: str) -> "Server":
        """The runs of an MLflow experiment of this store."""
        from harness.store.mlflow_runs import Server

        if self.uri:
            return Server(self._address, experiment, None)
        self.root.mkdir(parents=True, exist_ok=True)
        make_once(self.database, _make_tables)
        return Server(self._address, experiment, self.root / ARTIFACTS)

    def tracked(self, experiment: str) -> list[TrackedRun]:
        """The runs of an MLflow experiment; an experiment in a local store is not created."""
        if self.is_new:
            return []
        found = self._from_tables(tracked_runs, experiment)
        return self.tracking(experiment).runs() if found is None else found

    def params(self, runs: Sequence[str]) -> dict[str, dict[str, str]] | None:
        """Run id to params; null if MLflow must be queried for each."""
        return self._from_tables(read_params, runs)

    def tagged(self, tag: str, value: str | None = None) -> list[Entry]:
        """The finished runs with a tag that few have, by start time; null: any value."""
        if self.is_new:
            return []
        found = self._from_tables(find_finished, EXPERIMENT, tag, value)
        if found is not None:  # by an index, which may be damaged, too
            tagged = [one for one in self._counting(found) if tag in one.tags]
            return [one for one in tagged if value is None or one.tags[tag] == value]
        condition = f"tags.`{tag}` = '{value}'"
        return self.marked(tag) if value is None else self._searched(condition)

    def with_damaged(self, tag: str) -> list[Entry]:
        """`tagged`, and the damaged runs with the tag, which do not count."""
        intact = self.tagged(tag)
        damaged = [one.entry for one in self.left_out.values() if tag in one.entry.tags]
        found = {one.run_id: one for one in (*damaged, *intact)}.values()
        # As text: the time of a damaged run may be no number.
        return sorted(found, key=lambda one: (str(one.start_time), one.run_id))

    def marked(self, mark: str, names: Collection[str] | None = None) -> list[Entry]:
        """Finished runs with the tag `mark`, one of MARKS, and one of its values `names` (null:
        any), by start time."""
        if self.is_new:
            return []
        found = self._from_tables(partial(rows_from_tables, self.snapshot), EXPERIMENT)
        if self.uri:
            found = rows_from_server(self.snapshot, self.server)
        if found is None:
            every = self._searched(f"tags.`{mark}` != ''")
            return [entry for entry in every if names is None or entry.tags[mark] in names]
        rows, damaged = found
        wrong = [one for one in damaged if mark in one.tags]
        wrong = [one for one in wrong if names is None or one.tags[mark] in names]
        self._counting(wrong)
        intact = entries(rows, mark, names)  # when they were added
        return _by_start(map(self._here, intact))

    def uncounted(self) -> list[Entry]:
        """The runs that are no results: their recording was interrupted, or they are damaged and
        marked as failed."""
        if self.is_new:
            return []
        found = self._from_tables(uncounted_runs, EXPERIMENT)
        return self.server.uncounted() if found is None else found

    def leave_out(self, entry: Entry, what: str) -> None:
        """Keeps, and logs once, that a run does not count.

        Args:
            what: is damaged.
        """
        if entry.run_id not in self.left_out:
            self.left_out[entry.run_id] = one = LeftOut(entry, what)
            LOG.warning("%s is left out: %s is damaged; %s", one.name, what, one.repair)

    def replace(self, tag: str, value: str) -> None:
        """Marks damaged runs as failed, since another with this tag was added."""
        for run, one in list(self.left_out.items()):
            if one.entry.tags.get(tag) == value:
                self.server.fail(run)
                del self.left_out[run]

    def _searched(self, condition: str) -> list[Entry]:
        return self._counting(self.server.search(condition))

    def _from_tables(self, read: Callable[..., T], *arguments: object) -> T | None:
        """What a function reads from MLflow's tables; null if they are on a server, or of another
        version of MLflow.

        Raises:
            OSError: the file is damaged or cannot be opened.
        """
        if self.uri or self._foreign:
            return None
        try:
            return read(self.database, *arguments)
        except sqlite3.DatabaseError:
            if what := damage(self.database):
                raise OSError(
                    f"{self.database} is damaged ({what}): replace it by a copy, or remove it, "
                    "and all stages are computed again"
                ) from None
            self._foreign = True
            return None

    def _counting(self, found: Iterable[Entry]) -> list[Entry]:
        """The intact ones of some runs, by start time."""
        intact = []
        for one in found:
            if one.is_intact:
                intact.append(self._here(one))
            else:
                self.leave_out(one, f"its record in {self.database.name}")
        return _by_start(intact)

    def _here(self, one: Entry) -> Entry:
        """A run with the address of its files beside the database."""
        if not self._former or not one.artifact_uri.startswith(self._former):
            return one
        rest = one.artifact_uri[len(self._former) :]
        return replace(one, artifact_uri=f"{(self.root / ARTIFACTS).as_uri()}{rest}")


def _by_start(found: Iterable[Entry]) -> list[Entry]:
    return sorted(found, key=lambda one: (one.start_time, one.run_id))


def _make_tables(path: Path) -> None:
    """Creates MLflow's tables in a new SQLite file, first in one with a name of its own: after a
    failure, such as of a full disk, MLflow keeps its connection to that file.

    Raises:
        OSError: MLflow fails.
    """
    from harness.store.mlflow_runs import make_tables

    fresh = path.with_name(f"{path.name}.{uuid4().hex[:8]}")
    try:
        make_tables(fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
