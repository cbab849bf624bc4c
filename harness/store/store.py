"""The store of finished stages, recorded experiments and imported results."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.files import file_exists, output_folder
from harness.store.artifacts import IntactFiles, digest, digest_of
from harness.store.entries import (
    ADOPTED,
    DIGEST,
    IMPORT,
    KEY,
    KIND,
    LABEL,
    LEFT_OUT,
    MADE_WITH,
    NAME,
    REPLACED,
    SUITE,
    Entry,
    TrackedRun,
    replaced_tags,
)
from harness.store.finished_runs import DATABASE, FinishedRuns
from harness.store.outages import place_of
from harness.store.params import join_params, unflatten
from harness.store.run_files import remove_files

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server


@dataclass(frozen=True)
class StageResult:
    """The stored result of a finished stage."""

    key: str
    kind: str
    run_id: str
    metrics: Mapping[str, float]
    artifact_uri: str
    digest: str
    made_with: str = ""
    """Packages and machine; empty for runs of versions that did not record it."""
    adopted: str = ""
    """What was changed since it was computed, and why that does not matter, as the user says;
    empty if it was computed as recorded."""
    recorded: int = 0
    """When it was stored, in milliseconds since 1970."""
    label: str = ""
    """For people."""
    left_out: str = ""
    """Files that it lacks, as the archive from which it was restored: weights and tokens. Reports
    do not read them, but a stage that does cannot start from it; empty if it has all files."""


class Store:
    """All finished stages and experiments: in SQLite and a folder under `root`, or on the MLflow
    server that `MLFLOW_TRACKING_URI` names."""

    def __init__(self, root: Path) -> None:
        """Opens a store; its folder, and MLflow's tables, which take seconds, are created when they
        are needed.

        Raises:
            ValueError: `root` is a file, or its path cannot be part of an address.
        """
        self.root = root.absolute()
        if file_exists(self.root):
            raise ValueError(f"a store must be a folder, but {root} is a file; name another one")
        self.runs = FinishedRuns(self.root, os.environ.get("MLFLOW_TRACKING_URI"))
        self._files = IntactFiles()
        self.is_remote = bool(self.runs.uri)  # processes with other folders may use it, too
        if self.is_remote:
            self.create_folder()  # of the snapshot

    def create_folder(self) -> None:
        """Creates the folder of the store, before a computation whose results go there.

        Raises:
            ValueError: it cannot be created or written, or MLflow's tables cannot.
        """
        output_folder(self.root).mkdir(parents=True, exist_ok=True)
        self.runs.check_writable()

    @property
    def _server(self) -> "Server":
        return self.runs.server

    def tracking(self, experiment: str) -> "Server":
        """The runs of an MLflow experiment of this store."""
        return self.runs.tracking(experiment)

    def tracked(self, experiment: str) -> list[TrackedRun]:
        """The runs of an MLflow experiment; an experiment in a local store is not created."""
        return self.runs.tracked(experiment)

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, StageResult]:
        """Key to result of every finished stage.

        Args:
            keys: restricts the stages; null: all.
        """
        found = self.runs.marked(KEY, None if keys is None else set(keys))
        return {entry.tags[KEY]: _record(entry) for entry in found}

    def find(self, key: str) -> StageResult | None:
        """The latest result of one stage; null if it is not finished."""
        found = self.runs.tagged(KEY, key)
        return _record(found[-1]) if found else None

    def spec(self, record: StageResult) -> dict[str, Any]:
        """The spec of a stage with its `parents`, read back from the params of its run."""
        return self._server.spec(record.run_id)

    def specs(self, records: Sequence[StageResult]) -> dict[str, dict[str, Any]]:
        """Key to spec of several stages; see `spec`."""
        params = self.runs.params([one.run_id for one in records])
        if params is None:
            return {one.key: self.spec(one) for one in records}
        return {one.key: unflatten(join_params(params[one.run_id])) for one in records}

    def record(
        self,
        key: str,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
        made_with: str = "",
        adopted: str = "",
        left_out: str = "",
    ) -> StageResult:
        """Stores a finished stage, unless another process stores it at the same time.

        Returns:
            The stored result: this one, or that of the process that was first.

        Args:
            label: for people.
            metrics: nulls are left out.
            folder: output files, which are copied.
            made_with, adopted, left_out: see `StageResult`.
        """
        tags = {KEY: key, KIND: kind, LABEL: label, DIGEST: digest(folder), MADE_WITH: made_with}
        known = {ADOPTED: adopted, LEFT_OUT: left_out}
        tags |= {name: text for name, text in known.items() if text}
        while True:
            added = self._server.add(f"{kind}: {label}", tags, spec, metrics, folder)
            if all(one.run_id == added.run_id for one in self.runs.tagged(KEY, key)):
                self.runs.replace(KEY, key)
                return _record(added)
            # Each looks after it has finished, so that at most one of several remains.
            self._server.fail(added.run_id)
            if first := self.find(key):
                return first

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with a copy of `folder`: its spec and scores."""
        tags = {NAME: name, SUITE: suite, DIGEST: digest(folder)}
        self._server.add(name, tags, {}, {}, folder)
        self.runs.replace(NAME, name)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run recorded; without those of which a
        record is damaged, as an earlier one may differ."""
        latest = {entry.tags[NAME]: entry for entry in self.runs.tagged(NAME)}
        folders = {name: self._folder(entry) for name, entry in latest.items()}
        damaged = {one.entry.tags.get(NAME) for one in self.runs.left_out.values()}
        return {name: folder for name, folder in folders.items() if folder and name not in damaged}

    def is_recorded(self, experiment: str, folder: Path) -> bool:
        """Whether the latest record of an experiment is intact, and a copy of `folder`."""
        latest = self.runs.tagged(NAME, experiment)[-1:]
        same = [one.tags.get(DIGEST) for one in latest] == [digest(folder)]
        return same and experiment in self.experiments()

    def record_import(self, name: str, folder: Path, replaced: Collection[str] = ()) -> None:
        """Stores results that were measured elsewhere: a copy of `folder`, which may be empty, in
        place of all earlier ones of the sources `replaced`."""
        tags = {IMPORT: name, DIGEST: digest(folder), **replaced_tags(replaced)}
        self._server.add(f"import: {name}", tags, {}, {}, folder)
        if replaced:
            self.runs.replace(REPLACED, tags[REPLACED])

    def imports(self) -> dict[Path, frozenset[str]]:
        """Folder of results that were measured elsewhere to the sources that were replaced or
        removed since, in the order of their import, of those that are intact."""
        found, replaced = dict[Path, frozenset[str]](), frozenset[str]()
        for entry in reversed(self.runs.with_damaged(IMPORT)):
            has_files = entry.tags.get(DIGEST) != digest_of({})
            if has_files and entry.is_intact and (folder := self._folder(entry)):
                found[folder] = replaced
            replaced |= entry.replaced
        return dict(reversed(found.items()))

    def fetch(self, record: StageResult) -> Path | None:
        """The folder of a stage's files; null if they are missing or changed.

        Raises:
            OSError: they cannot be downloaded.
        """
        return self._files.find(record.artifact_uri, record.digest)

    def files(self, record: StageResult) -> Path:
        """The folder of a stage's files.

        Raises:
            ValueError: they are missing or changed; the next run computes the stage again.
            OSError: they cannot be downloaded.
        """
        folder = self.fetch(record)
        if folder is None:
            with suppress(OSError):  # a store that is only read
                self.forget(record)
            raise ValueError(
                f"the files of stage {record.key} are damaged: run the experiment again"
            )
        return folder

    def all_files(self, record: StageResult) -> Path:
        """The folder of a stage's files, weights and tokens included.

        Raises:
            ValueError: as `files`; or the archive that the stage was restored from lacks some.
            OSError: they cannot be downloaded.
        """
        if record.left_out:
            raise ValueError(
                f"stage {record.key} was restored from an archive, which has its results but not "
                f"{record.left_out.partition(', ')[0]}: compute it again in another store"
            )
        return self.files(record)

    def page(self, record: StageResult) -> str:
        """The page of a stage below the address of MLflow's pages."""
        return f"#/experiments/{self._server.experiment_id}/runs/{record.run_id}"

    def study_page(self, name: str) -> str | None:
        """The page of a study below the address of MLflow's pages; null if it has no runs."""
        if not self.tracked(name):
            return None
        return f"#/experiments/{self.tracking(name).experiment_id}"

    def forget(self, record: StageResult) -> None:
        """Marks a damaged stage as failed, so that it is computed again."""
        self._server.fail(record.run_id)

    def uncounted(self) -> list[Entry]:
        """The runs that are no results: their recording was interrupted, or they are damaged and
        marked as failed. Their files remain until they are removed."""
        return self.runs.uncounted()

    def remove(self, run: StageResult | Entry) -> None:
        """Deletes the files of a run in a local store, and moves it to MLflow's trash."""
        remove_files(run)  # first: after a kill, the run is found again, but not files without one
        self._server.delete(run.run_id)

    @property
    def place(self) -> str:
        """Where tables and files are: a folder, or the address of a server without secrets."""
        return place_of(self.runs.uri) if self.runs.uri else str(self.root)

    def _folder(self, entry: Entry) -> Path | None:
        """The folder of an experiment or import; null if it is damaged. Earlier versions recorded
        no digest."""
        folder = self._files.find(entry.artifact_uri, entry.tags.get(DIGEST))
        if folder is None:
            self.runs.leave_out(entry, "a file of it")
        return folder


def existing_store(folder: Path) -> Store | None:
    """The store of a local folder; null if there is none, and if `MLFLOW_TRACKING_URI` names a
    server."""
    is_local = not os.environ.get("MLFLOW_TRACKING_URI") and (folder / DATABASE).is_file()
    return Store(folder) if is_local else None


def _record(entry: Entry) -> StageResult:
    return StageResult(
        key=entry.tags[KEY],
        kind=entry.tags[KIND],
        run_id=entry.run_id,
        metrics=entry.metrics,
        artifact_uri=entry.artifact_uri,
        digest=entry.tags[DIGEST],
        made_with=entry.tags.get(MADE_WITH, ""),
        adopted=entry.tags.get(ADOPTED, ""),
        recorded=entry.end_time,
        label=entry.tags.get(LABEL, ""),
        left_out=entry.tags.get(LEFT_OUT, ""),
    )
