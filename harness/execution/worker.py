"""One stage in a worker process: done in its work folder, or left as it is done there."""

import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from filelock import FileLock

from harness.core.compute import Compute
from harness.core.files import write_atomically
from harness.execution.provenance import made_with

REPORT_SECONDS = 0.3


@dataclass(frozen=True)
class Order:
    """A stage as a worker gets it: plain values."""

    kind: str
    key: str
    spec: dict[str, Any]
    inputs: dict[str, str]
    compute: Compute
    folder: str
    root: str


def perform(order: Order) -> dict[str, Any] | None:
    """Does one stage in its work folder, unless that is already done there.

    Returns its metrics and what made them; null if another process has stored it. The work folder
    is locked, so no two processes do one stage at once; `result.json` comes last, so that what is
    cut short is never taken for finished.
    """
    from harness.execution.stages import STAGES
    from harness.execution.stages.job import Job

    folder = Path(order.folder)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        result = folder / "result.json"
        if result.exists():
            return json.loads(result.read_text()) if (folder / "out").exists() else None
        journal(Path(order.root), "start", order.key)
        rmtree(folder / "out", ignore_errors=True)
        (folder / "out").mkdir(parents=True)
        (folder / "state").mkdir(exist_ok=True)
        job = Job(
            spec=order.spec,
            inputs={role: Path(path) for role, path in order.inputs.items()},
            out=folder / "out",
            state=folder / "state",
            shared=Path(order.root),
            compute=order.compute,
            key=order.key,
            progress=_reporter(folder / "progress.json"),
        )
        begin = time.perf_counter()
        try:
            metrics = STAGES[order.kind](job)
        except BaseException:
            (folder / "error.txt").write_text(traceback.format_exc())
            raise
        metrics = {"seconds": time.perf_counter() - begin, **metrics}
        content = {"metrics": metrics, "made_with": made_with()}
        write_atomically(result, json.dumps(content))
        journal(Path(order.root), "finish", order.key)
        return content


def journal(root: Path, event: str, key: str) -> None:
    """Appends to the store's journal which stage was started or finished; one write, one line."""
    line = json.dumps({"event": event, "key": key, "time": round(time.time(), 3)}) + "\n"
    with (root / "journal.jsonl").open("a") as file:
        file.write(line)


def _reporter(path: Path) -> Callable[..., None]:
    """Writes progress to a file now and then, for whoever looks."""
    last = 0.0

    def report(done: int, total: int, **figures: float) -> None:
        nonlocal last
        if time.monotonic() - last > REPORT_SECONDS or done == total:
            last = time.monotonic()
            write_atomically(path, json.dumps({"done": done, "total": total, **figures}))

    return report


def read_progress(folder: Path) -> dict[str, Any]:
    """What a running stage last said of itself; empty if nothing yet."""
    try:
        content: dict[str, Any] = json.loads((folder / "progress.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content


def clean(folder: Path) -> None:
    """Drops what a stored stage left in its work folder; `result.json` stays, to say it is done."""
    rmtree(folder / "out", ignore_errors=True)
    rmtree(folder / "state", ignore_errors=True)


def start_worker(parent: int, threads: int) -> None:
    """Ends the worker when its parent is gone, and keeps its threads to its share."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is asked to stop, and goes
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
