"""Kills a run at random times, resumes it each time, and compares it with an uninterrupted run.

    python benchmarks/crash_recovery.py experiments/smoke.yaml [--kills 20] [--seed 0]

Passes (exit 0) if both leaderboards are equal byte for byte and no finished stage was started
again.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import timed


def start(experiment: str, store: Path, *options: str) -> subprocess.Popen[bytes]:
    """Starts the run in a new process group, which can be killed together with its workers."""
    run = ["run", experiment, "--store", str(store), *options]
    command = [sys.executable, "-m", "harness", *run]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def finish(experiment: str, store: Path) -> bytes:
    """Runs to the end and returns leaderboard.csv."""
    process = start(experiment, store)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"the run failed:\n{errors.decode()}")
    (table,) = store.glob("reports/*/leaderboard.csv")
    return table.read_bytes()


def kill_when(
    due: Callable[[], bool], experiment: str, store: Path, whole_group: bool, *options: str
) -> bool:
    """Starts the run and kills it with SIGKILL once `due()` is true.

    Args:
        whole_group: whether its workers are killed as well; if not, they must notice by themselves.
        options: of `harness run`.

    Returns:
        Whether it was still running.
    """
    with start(experiment, store, *options) as process:
        while process.poll() is None:
            if due():
                os.killpg(process.pid, signal.SIGKILL) if whole_group else process.kill()
                return True
            time.sleep(0.1)
    return False


def after(seconds: float) -> Callable[[], bool]:
    """Whether `seconds` have passed since now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def events(store: Path) -> list[dict[str, str]]:
    """The journal of the store, oldest first."""
    path = store / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def num_finished(store: Path) -> int:
    """Number of stages that have finished."""
    return sum(event["event"] == "finish" for event in events(store))


def started_again(store: Path) -> list[str]:
    """Keys of stages that were started after they had finished."""
    finished: set[str] = set()
    again = []
    for event in events(store):
        if event["event"] == "finish":
            finished.add(event["key"])
        elif event["key"] in finished:
            again.append(event["key"])
    return again


def broken_runs(
    experiment: str, folder: Path, kills: int, life: Callable[[], float]
) -> Iterator[tuple[bytes, Path]]:
    """Kills runs `kills` times.

    Args:
        life: seconds until the next kill.

    Yields:
        Leaderboard and store of each run, once it has been completed.
    """
    done = 0
    while done < kills:
        store = folder / f"broken-{done}"
        while done < kills and kill_when(after(life()), experiment, store, done % 2 == 0):
            done += 1
            print(f"kill {done}: {num_finished(store)} stages had finished", flush=True)
        yield finish(experiment, store), store


def main() -> None:
    """Prints what became of the runs; exits with 0 if they are equal to the uninterrupted one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        seconds, expected = timed(lambda: finish(options.experiment, folder / "whole"))
        longest = max(20, seconds / 2)  # from before the imports are done to far into the work
        found = broken_runs(
            options.experiment, folder, options.kills, lambda: rng.uniform(1, longest)
        )
        runs = list(found)
        equal = sum(table == expected for table, _ in runs)
        again = sum(len(started_again(store)) for _, store in runs)
        ends = sum(num_finished(store) for _, store in runs)
    print(
        f"{options.kills} kills in {len(runs)} runs of {ends} stages: {equal} of {len(runs)} "
        f"leaderboards equal byte for byte, {again} finished stages started again; "
        f"an unbroken run takes {seconds:.0f} s"
    )
    sys.exit(0 if equal == len(runs) and not again else 1)


if __name__ == "__main__":
    main()
