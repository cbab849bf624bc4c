"""Many workers and drivers compute one plan in one store while some of them are killed at random.

    python benchmarks/shared_plan.py [--experiment benchmarks/sweep.yaml] [--rounds 10] [--kills 6]
        [--workers 4] [--drivers 2] [--executor processes] [--server] [--outage 0] [--seed 0]

In each round, `--workers` processes of `harness work` and `--drivers` of `harness run` share a new
store; a killed one starts again. With `--server`, the store is an MLflow server on PostgreSQL,
which both go away once a round for `--outage` seconds.

Passes (exit 0) if in every round each stage is recorded once and no finished stage was started
again, and all leaderboards are equal byte for byte.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import timed
from benchmarks.crash_recovery import num_finished, started_again
from benchmarks.tracking_server import Database, TrackingServer
from harness.plan.factory import load_plan
from harness.store.entries import KEY
from harness.store.finished_runs import EXPERIMENT
from harness.store.store import Store

MOST_SECONDS = 30.0
"""Longest time between two kills."""


def start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts `harness ...` in a new process group."""
    command = [sys.executable, "-m", "harness", *words]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a process with its workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class SharedServer:
    """An MLflow server on PostgreSQL, which the processes started from here use."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "database" / "tables")
        self.database.start()
        self.server = TrackingServer(self.database.address, folder / "files")
        self.server.start()
        os.environ["MLFLOW_TRACKING_URI"] = self.server.address
        os.environ["HARNESS_CACHE"] = str(folder / "cache")

    def go_away(self, seconds: float) -> None:
        """Stops both, and starts them again later."""
        self.stop()
        time.sleep(seconds)
        self.database.start()
        self.server.start()

    def stop(self) -> None:
        """Ends both."""
        self.server.stop()
        self.database.stop()


@contextmanager
def shared_server(folder: Path, wanted: bool) -> Iterator[SharedServer | None]:
    """A context with a new server; without one, stores are local."""
    server = SharedServer(folder) if wanted else None
    try:
        yield server
    finally:
        if server:
            server.stop()


def compute(
    options: argparse.Namespace, store: Path, rng: random.Random, server: SharedServer | None
) -> int:
    """Runs all processes to their end; returns how many were killed."""
    shared = [options.experiment, "--store", str(store)]
    works = [["work", *shared]] * options.workers
    runs = [["run", *shared, "--jobs", "1", "--executor", options.executor]] * options.drivers
    commands = [*works, *runs]
    processes = [start(words) for words in commands]
    kills, due = 0, time.monotonic() + rng.uniform(1, MOST_SECONDS)
    outage = time.monotonic() + rng.uniform(1, 3 * MOST_SECONDS)
    while any(process.poll() is None for process in processes):
        time.sleep(0.2)
        if server and options.outage and time.monotonic() > outage:
            server.go_away(options.outage)
            outage = float("inf")
        if kills < options.kills and time.monotonic() > due:
            due = time.monotonic() + rng.uniform(1, MOST_SECONDS)
            alive = [place for place, one in enumerate(processes) if one.poll() is None]
            if alive:
                place, kills = rng.choice(alive), kills + 1
                kill(processes[place])
                processes[place] = start(commands[place])
    codes = Counter(process.returncode for process in processes)
    if set(codes) != {0}:
        sys.exit(f"exit codes of the processes: {dict(codes)}; see 'harness status'")
    return kills


def recorded(store: Store, keys: set[str]) -> Counter[str]:
    """How often each stage of the plan is recorded as finished."""
    found = store.tracking(EXPERIMENT).search(f"tags.`{KEY}` != ''")
    return Counter(one.tags[KEY] for one in found if one.tags[KEY] in keys)


def leaderboard(options: argparse.Namespace, store: Path) -> bytes:
    """leaderboard.csv of a finished store."""
    start(["run", options.experiment, "--store", str(store)]).wait()
    (table,) = store.glob("reports/*/leaderboard.csv")
    return table.read_bytes()


def compute_and_check(
    options: argparse.Namespace, root: Path, keys: set[str], rng: random.Random
) -> tuple[bool, bytes]:
    """Whether one round recorded each stage once and repeated nothing, and its leaderboard."""
    with shared_server(root.with_suffix(".server"), options.server) as server:
        seconds, kills = timed(partial(compute, options, root, rng, server))
        counts, table = recorded(Store(root), keys), leaderboard(options, root)
    again = started_again(root)
    twice = [key for key, count in counts.items() if count > 1]
    print(
        f"{root.name}: {len(counts)} of {len(keys)} stages recorded, {len(twice)} more than once; "
        f"{num_finished(root)} finished, {len(again)} started again; {kills} kills; "
        f"{seconds:.0f} s",
        flush=True,
    )
    return not (again or twice) and counts.keys() == keys, table


def main() -> None:
    """Prints what became of each round; exits with 0 if nothing was repeated or recorded twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default="benchmarks/sweep.yaml")
    parser.add_argument("--executor", default="processes", help="of the drivers")
    parser.add_argument("--server", action="store_true", help="MLflow's, on PostgreSQL")
    parser.add_argument("--outage", type=float, default=0, help="seconds without the server")
    for name, default in {"workers": 4, "drivers": 2, "rounds": 10, "kills": 6, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rng, keys = random.Random(options.seed), set(load_plan(Path(options.experiment)).stages)
    with TemporaryDirectory() as folder:
        roots = [Path(folder) / f"round-{number}" for number in range(options.rounds)]
        passed, tables = zip(
            *(compute_and_check(options, root, keys, rng) for root in roots), strict=True
        )
    print(f"{len(set(tables))} different leaderboards")
    sys.exit(0 if all(passed) and len(set(tables)) == 1 else 1)


if __name__ == "__main__":
    main()
