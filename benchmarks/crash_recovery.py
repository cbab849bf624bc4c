"""Kills a run at random moments, starts it again each time, and compares it with an unbroken run.

    python benchmarks/crash_recovery.py experiments/smoke.yaml --kills 20

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


def start(experiment: str, store: Path) -> subprocess.Popen[bytes]:
    """The run in a process group of its own, so that a kill takes its workers along."""
    command = [sys.executable, "-m", "harness", "run", experiment, "--store", str(store)]
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


def kill_after(experiment: str, store: Path, seconds: float, whole_group: bool) -> bool:
    """Starts the run and kills it with SIGKILL; returns whether it was still running."""
    with start(experiment, store) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            if whole_group:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()  # the workers must notice by themselves
            return True
    return False


def events(store: Path) -> list[dict[str, str]]:
    """The journal of the store, oldest first."""
    path = store / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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


def campaign(
    experiment: str, folder: Path, kills: int, life: Callable[[], float]
) -> Iterator[tuple[bytes, Path]]:
    """Kills runs `kills` times; yields table and store of each, brought to its end."""
    done = 0
    while done < kills:
        store = folder / f"broken-{done}"
        while done < kills and kill_after(experiment, store, life(), whole_group=done % 2 == 0):
            done += 1
            ends = sum(event["event"] == "finish" for event in events(store))
            print(f"kill {done}: {ends} stages had finished", flush=True)
        yield finish(experiment, store), store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("experiment")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        begin = time.monotonic()
        expected = finish(options.experiment, Path(folder, "whole"))
        seconds = time.monotonic() - begin
        runs = list(
            campaign(
                options.experiment,
                Path(folder),
                options.kills,
                # From before the imports are done to far into the work.
                lambda: dice.uniform(1, max(20, seconds / 2)),
            )
        )
        equal = sum(table == expected for table, _ in runs)
        again = sum(len(started_again(store)) for _, store in runs)
        ends = sum(event["event"] == "finish" for _, store in runs for event in events(store))
    print(
        f"{options.kills} kills in {len(runs)} runs of {ends} stages: {equal} of {len(runs)} "
        f"leaderboards equal byte for byte, {again} finished stages started again; "
        f"an unbroken run takes {seconds:.0f} s"
    )
    sys.exit(0 if equal == len(runs) and not again else 1)


if __name__ == "__main__":
    main()
