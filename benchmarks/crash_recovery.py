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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("experiment")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole"), Path(folder, "broken")
        begin = time.monotonic()
        expected = finish(options.experiment, whole)
        seconds = time.monotonic() - begin
        kills = 0
        for number in range(options.kills):
            # Short lives, so that there is work left to kill: much of a start is importing.
            life = dice.uniform(1.0, 12.0 + seconds / options.kills)
            if kill_after(options.experiment, broken, life, whole_group=number % 2 == 0):
                kills += 1
            ends = sum(event["event"] == "finish" for event in events(broken))
            ends = sum(event["event"] == "finish" for event in events(broken))
            print(f"{kills} kills, last after {life:.1f} s, {ends} stages finished", flush=True)
        same = finish(options.experiment, broken) == expected
        again = started_again(broken)
        ends = sum(event["event"] == "finish" for event in events(broken))
    print(
        f"{kills} kills, {ends} stages finished, {len(again)} started again after their end; "
        f"leaderboards {'equal' if same else 'DIFFER'}; unbroken run {seconds:.0f} s"
    )
    sys.exit(0 if same and not again else 1)


if __name__ == "__main__":
    main()
