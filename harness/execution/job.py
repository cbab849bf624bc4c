"""One stage as a job: what a backend receives, the folder it computes in, and what it returns."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from filelock import SoftFileLease, Timeout

from harness.core.compute import Compute
from harness.core.files import write_atomically
from harness.execution.lease import is_leased, lease
from harness.store.artifacts import Artifact

HISTORY = "history.jsonl"
"""Metrics logged in training, by step, among the files of a stage; see
`harness.pretraining.history_file`."""

OUT, STATE, ERROR = "out", "state", "error.txt"
"""Names in the folder of a stage: its files, its checkpoints, and why it failed."""
DRAFT = "out-"
"""Begin of the names of folders of unfinished attempts."""


@dataclass(frozen=True)
class StageJob:
    """A stage to compute: plain values and artifact addresses, without paths of this machine.

    A declared corpus or checkpoint folder is part of `spec` as the user wrote it, and a store
    without a server has `file:` addresses: both must be readable wherever the stage is computed.
    """

    kind: str
    key: str
    spec: Mapping[str, Any]
    """Arguments of the stage, as JSON values."""
    inputs: Mapping[str, Artifact]
    """Role to the files of a parent stage."""
    compute: Compute
    """Accelerator, devices, strategy, precision and loggers."""
    experiment: str = ""
    """Name of the experiment, for loggers."""
    label: str = ""
    """Arm, task and seeds in words, for loggers."""
    plugins: tuple[str, ...] = ()
    """All plug-ins of the experiment; `spec` has the digests of those that the stage uses."""


@dataclass(frozen=True)
class Node:
    """A node among those that compute one stage together."""

    index: int = 0
    """From 0, which leads."""
    attempt: str = ""
    """The same for all, and for no other attempt at the stage."""


@dataclass(frozen=True)
class StageOutput:
    """What a stage returns besides its files."""

    metrics: Mapping[str, float | None]
    made_with: str
    """Packages and machine, in one line."""


@dataclass(frozen=True)
class Workspace:
    """`work/<key>/` for each stage that is not recorded yet, and caches that stages share.

    `state/` has checkpoints, `out/` the files of the stage, and `out-*/` those of an unfinished
    attempt. `result.json` is written last: without it a stage counts as unfinished.
    """

    root: Path
    """Folder of the store."""

    def folder(self, key: str) -> Path:
        """Work folder of a stage."""
        return self.root / "work" / key

    def output(self, key: str) -> Path:
        """Folder of the files of a computed stage."""
        return self.folder(key) / OUT

    def state(self, key: str) -> Path:
        """Folder of the checkpoints of a stage; kept until it is recorded."""
        return self.folder(key) / STATE

    def nodes(self, key: str, attempt: str) -> Path:
        """Folder in which the nodes of one attempt at a stage exchange files."""
        return self.state(key) / f"nodes-{attempt}"

    def history(self, key: str) -> Path:
        """File of the metrics logged so far by an unfinished stage."""
        return self.state(key) / HISTORY

    def result(self, key: str) -> Path:
        """File that marks a stage as finished, with its metrics."""
        return self.folder(key) / "result.json"

    def lease(self, key: str) -> SoftFileLease:
        """The lease of a stage, which a process holds while it computes the stage."""
        return lease(self._lease(key))

    def is_leased(self, key: str) -> bool:
        """Whether a process computes the stage now, on any machine that shares the store."""
        return is_leased(self._lease(key))

    def _lease(self, key: str) -> Path:
        return self.folder(key).with_suffix(".lease")

    def progress(self, key: str) -> dict[str, Any]:
        """The latest progress report of a running stage; empty before the first."""
        try:
            content: dict[str, Any] = json.loads((self.folder(key) / "progress.json").read_text())
        except (FileNotFoundError, ValueError):  # before the first, or damaged
            return {}
        return content if isinstance(content, dict) else {}

    def forget_progress(self, key: str) -> None:
        """Deletes the progress report of an interrupted stage."""
        (self.folder(key) / "progress.json").unlink(missing_ok=True)

    def error(self, key: str) -> str:
        """The reason of a failed stage, the last line of `error.txt` after its traceback; empty if
        it has not failed."""
        file = self.folder(key) / ERROR
        text = file.read_text(errors="replace").strip() if file.exists() else ""
        return text.rpartition("\n")[2]

    def keep_error(self, key: str, reason: str, is_new: bool = True) -> None:
        """Keeps the reason of a failed stage, if the disk takes it.

        Args:
            is_new: whether it replaces one that is kept.
        """
        file = self.folder(key) / ERROR
        with suppress(OSError):
            if is_new or not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, " ".join(reason.split()))

    def draft(self, key: str, token: str) -> Path:
        """Folder in which one attempt writes the files of a stage, renamed to `output` at its end.

        Args:
            token: names the attempt, so that one that lost its lease and does not know disturbs no
                other.
        """
        return self.folder(key) / f"{DRAFT}{token}"

    def clean_drafts(self, key: str) -> None:
        """Deletes the files of interrupted attempts."""
        for folder in self.folder(key).glob(f"{DRAFT}*"):
            rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            for file in self.folder(key).glob(".*"):  # of files that are written atomically
                file.unlink(missing_ok=True)

    def clean(self, key: str) -> None:
        """Deletes the files of a recorded stage, except `result.json`; unless another process holds
        its lease, which reads them and deletes them afterwards."""
        try:
            names = [path.name for path in self.folder(key).iterdir()]
        except OSError:  # it was never computed here, or belongs to another user
            return
        if not any(name in (STATE, OUT, ERROR) or name.startswith((DRAFT, ".")) for name in names):
            return
        try:
            with self.lease(key).acquire(timeout=0):
                self._delete_files(key)
        except Timeout:
            pass
        except OSError:  # a full disk, which takes no lease
            self._delete_files(key)

    def _delete_files(self, key: str) -> None:
        rmtree(self.output(key), ignore_errors=True)
        self.clean_drafts(key)
        rmtree(self.state(key), ignore_errors=True)
        with suppress(OSError):
            (self.folder(key) / ERROR).unlink(missing_ok=True)

    def is_cleaned(self, key: str) -> bool:
        """Whether a stage was recorded and its files deleted."""
        return self.result(key).exists() and not self.output(key).exists()

    def forget(self, key: str) -> None:
        """Deletes what remains of a cleaned stage that the store no longer has, so that it can be
        computed again; unless another process has begun to."""
        with suppress(OSError), self.lease(key).acquire(timeout=0):
            if self.is_cleaned(key):
                rmtree(self.folder(key), ignore_errors=True)

    def log(self, event: str, key: str) -> None:
        """Appends a line with an event of a stage (start, finish) to `journal.jsonl`."""
        line = json.dumps({"event": event, "key": key, "time": round(time.time(), 3)}) + "\n"
        with (self.root / "journal.jsonl").open("a") as file:
            file.write(line)
