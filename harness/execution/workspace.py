"""The folder in which one machine computes stages."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any


@dataclass(frozen=True)
class Workspace:
    """`work/<key>/` for each stage that is not recorded yet, and what stages share.

    `state` keeps checkpoints, `out` what the stage will leave, and `result.json` is written last,
    so that an interrupted stage is never taken for a finished one.
    """

    root: Path

    def folder(self, key: str) -> Path:
        """The folder of one stage."""
        return self.root / "work" / key

    def output(self, key: str) -> Path:
        """The files that a computed stage left."""
        return self.folder(key) / "out"

    def state(self, key: str) -> Path:
        """Checkpoints of a stage; kept until it is finished."""
        return self.folder(key) / "state"

    def result(self, key: str) -> Path:
        """The file that says that a stage is finished."""
        return self.folder(key) / "result.json"

    def progress(self, key: str) -> dict[str, Any]:
        """The last progress report of a running stage; empty before the first."""
        try:
            content: dict[str, Any] = json.loads(self._progress_file(key).read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return content

    def _progress_file(self, key: str) -> Path:
        return self.folder(key) / "progress.json"

    def error(self, key: str) -> str:
        """The last line of the traceback of a failed stage; empty if it has not failed."""
        file = self.folder(key) / "error.txt"
        return file.read_text().strip().splitlines()[-1] if file.exists() else ""

    def clean(self, key: str) -> None:
        """Deletes the files of a recorded stage; `result.json` stays, as the mark of its end."""
        rmtree(self.output(key), ignore_errors=True)
        rmtree(self.state(key), ignore_errors=True)

    def log(self, event: str, key: str) -> None:
        """Appends the start or finish of a stage to `journal.jsonl`; one write, one line."""
        line = json.dumps({"event": event, "key": key, "time": round(time.time(), 3)}) + "\n"
        with (self.root / "journal.jsonl").open("a") as file:
            file.write(line)
