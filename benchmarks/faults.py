"""Runs small experiments while processes, files, limits, clocks, servers and data fail.

    python benchmarks/faults.py [--rounds 36] [--seed 0] [--kinds "driver killed" ...]

Each round draws an experiment and starts it in a new store; a fault happens to it at a random time;
then the same command is run until it succeeds. Kinds take turns, in an order by the seed.

Passes (exit 0) if every leaderboard is equal byte for byte to that of an undisturbed run, no
finished stage was lost or started again, unless its files were damaged, and nothing hung.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import timed
from benchmarks.crash_recovery import num_finished, started_again
from benchmarks.fault_kinds import FAULTS, OWN_DATA, SERVER_SECONDS, Fault, Scene
from benchmarks.faulty_proxy import FaultyProxy
from benchmarks.tracking_server import TrackingServer

SMALL = """
extends: smoke
question: Does it survive?
expect: []
pretrain: {budget: {tokens: 20_000}}
evaluate: {protocol: {max_train_examples: 50}}
compute: {checkpoint_interval_seconds: 0.5}
"""
EXPERIMENTS = {
    "small": """
grid: {pretrain.objective.masking: [static, dynamic]}
seeds: {pretrain: 1, finetune: 2}
sweep: null
""",
    "searched": """
grid: {pretrain.objective.masking: [static]}
seeds: {pretrain: 2, finetune: 1}
""",
    "own": f"""
grid: {{pretrain.objective.masking: [static]}}
seeds: {{pretrain: 1, finetune: 3}}
evaluate: {{suite: null, tasks: {{mine: {{data: {OWN_DATA}}}}}}}
sweep: null
""",
}
"""Name to what an experiment declares besides `SMALL`."""
MOST_SECONDS = 3600.0
"""Of an undisturbed run."""
LOG_END = 3000
"""Characters of a log that are shown."""
ATTEMPTS = 3
"""Runs after the fault: one may find damaged files, and the next computes them again."""


@dataclass
class Counts:
    """What became of the rounds of a kind."""

    rounds: int = 0
    faults: int = 0
    """Rounds in which there was something for the fault to happen to."""
    wrong: int = 0
    lost: int = 0
    """Finished stages that the store lacks after the fault."""
    repeated: int = 0
    stuck: int = 0
    failed: int = 0
    """Rounds whose run did not succeed afterwards."""

    @property
    def is_good(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.wrong or self.lost or self.repeated or self.stuck or self.failed)


def declare(folder: Path) -> dict[str, Path]:
    """Writes the experiments; name to file."""
    words = ["fine", "warm", "bright", "dull", "cold", "grey"]
    rows = [f"a {words[k % 6]} day {k},{'good' if k % 6 < 3 else 'bad'}" for k in range(120)]
    (folder / OWN_DATA).write_text("\n".join(["text,label", *rows, ""]))
    files = {name: folder / f"{name}.yaml" for name in EXPERIMENTS}
    for name, path in files.items():
        path.write_text(f"name: {name}{_merged(EXPERIMENTS[name])}")
    return files


def _merged(own: str) -> str:
    """`SMALL` without the fields that `own` declares, and these."""
    names = {line.partition(":")[0] for line in own.splitlines()}
    kept = [line for line in SMALL.splitlines() if line.partition(":")[0] not in names - {""}]
    return "\n".join(kept) + own


@contextmanager
def scene_of(
    fault: Fault, experiment: Path, store: Path, rng: random.Random, jobs: int
) -> Iterator[Scene]:
    """A scene with what the fault needs; no process of it remains."""
    scene = Scene(experiment, store, rng, jobs)
    server = None
    if fault.on_server:
        files = store.with_suffix(".server")
        files.mkdir()
        server = TrackingServer(f"sqlite:///{files / 'tables.db'}", files / "artifacts")
        server.start()
        scene.proxy = FaultyProxy(server.address)
        scene.variables = {
            "MLFLOW_TRACKING_URI": scene.proxy.address,
            "HARNESS_CACHE": str(files / "cache"),
            "HARNESS_SERVER_SECONDS": str(SERVER_SECONDS),
        }
    try:
        yield scene
    finally:
        for process in scene.processes:
            end(process)
        if server and scene.proxy:
            scene.proxy.stop()
            server.stop()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kills a process with its workers."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait(processes: Sequence["subprocess.Popen[bytes]"], seconds: float) -> bool:
    """Whether all end within so many seconds; the others are killed."""
    until = time.monotonic() + seconds
    is_stuck = False
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            is_stuck = True
            end(process)
    return not is_stuck


def disturb(fault: Fault, scene: Scene, num_stages: int, patience: float) -> tuple[bool, bool]:
    """Starts a run, and lets the fault happen to it.

    Returns:
        Whether it happened, and whether all processes have ended in time.
    """
    scene.limits = fault.limits(scene.rng) if fault.limits else None
    process, happened = scene.start(), fault.limits is not None
    scene.limits = None
    if fault.happens:
        due, until = scene.rng.randrange(num_stages), time.monotonic() + patience
        while num_finished(scene.store) < due and process.poll() is None:
            if time.monotonic() > until:
                break
            time.sleep(0.1)
        time.sleep(scene.rng.uniform(0, 1))
        while not (happened := fault.happens(scene)) and process.poll() is None:
            time.sleep(0.1)
    in_time = wait(scene.processes, patience)
    if scene.restore:
        scene.restore()
    return happened, in_time


def complete(scene: Scene, patience: float) -> tuple[bytes | None, bool]:
    """Runs to the end: the leaderboard, or null, and whether all ended in time."""
    for _ in range(ATTEMPTS):
        process = scene.start()
        if not wait([process], patience):
            return None, False
        if process.returncode == 0:
            (table,) = scene.store.glob("reports/*/leaderboard.csv")
            return table.read_bytes(), True
    return None, True


def play(fault: Fault, scene: Scene, expected: bytes, num_stages: int, patience: float) -> Counts:
    """One round.

    Args:
        expected: leaderboard of an undisturbed run.
        patience: seconds after which a run hangs.
    """
    happened, in_time = disturb(fault, scene, num_stages, patience)
    kept = _recorded(scene) - scene.damaged
    table, ended = complete(scene, patience)
    return Counts(
        rounds=1,
        faults=int(happened),
        wrong=int(table is not None and table != expected),
        lost=len(kept - scene.finished().keys()),
        repeated=len(set(started_again(scene.store)) - scene.damaged),
        stuck=int(not (in_time and ended)),
        failed=int(table is None and ended),
    )


def _recorded(scene: Scene) -> set[str]:
    return set(scene.finished()) if scene.store.exists() else set()


def sum_of(counts: Iterable[Counts]) -> Counts:
    """Counts of several rounds together."""
    values = zip(*(vars(one).values() for one in counts), strict=True)
    return Counts(*map(sum, values))


def table_of(found: Mapping[str, Counts]) -> str:
    """A row for each kind, and their sum."""
    names = [one.name for one in fields(Counts)]
    width = max(map(len, found))
    lines = ["  ".join([f"{'fault':{width}}", *names])]
    for kind, one in {**found, "all": sum_of(found.values())}.items():
        cells = [f"{getattr(one, name):>{len(name)}}" for name in names]
        lines.append("  ".join([f"{kind:{width}}", *cells]))
    return "\n".join(lines)


@dataclass
class Campaign:
    """Rounds in a folder."""

    folder: Path
    rng: random.Random
    jobs: int

    def __post_init__(self) -> None:
        self.files = declare(self.folder)
        self.whole: dict[str, tuple[float, int, bytes]] = {}
        """Experiment to what `undisturbed` returns."""

    def undisturbed(self, experiment: str) -> tuple[float, int, bytes]:
        """Seconds, number of stages and leaderboard of an undisturbed run, which is made once."""
        if experiment not in self.whole:
            store = self.folder / f"{experiment}-whole"
            with scene_of(Fault(), self.files[experiment], store, self.rng, self.jobs) as scene:
                seconds, (table, _) = timed(partial(complete, scene, MOST_SECONDS))
            if table is None:
                sys.exit(f"{experiment}: the undisturbed run failed:\n{scene.log.read_text()}")
            self.whole[experiment] = seconds, num_finished(store), table
        return self.whole[experiment]

    def play(self, number: int, kind: str, experiment: str) -> Counts:
        """One round, which is printed; with the end of the log if something went wrong."""
        seconds, stages, expected = self.undisturbed(experiment)
        fault, path = FAULTS[kind], self.files[experiment]
        with scene_of(fault, path, self.folder / str(number), self.rng, self.jobs) as scene:
            counts = play(fault, scene, expected, stages, 120 + 10 * seconds)
        found = ", ".join(f"{value} {name}" for name, value in vars(counts).items() if value)
        print(f"{number + 1}: {kind}, {experiment}: {found}", flush=True)
        if not counts.is_good:
            print(scene.log.read_text()[-LOG_END:], flush=True)
        return counts


def campaign(
    kinds: Sequence[str], experiments: Sequence[str], rounds: int, seed: int, jobs: int
) -> dict[str, Counts]:
    """Plays so many rounds; kind to counts."""
    rng = random.Random(seed)
    order = rng.sample(list(kinds), len(kinds))
    found = {kind: Counts() for kind in kinds}
    with TemporaryDirectory() as folder:
        here = Campaign(Path(folder), rng, jobs)
        for number in range(rounds):
            kind = order[number % len(order)]
            own = FAULTS[kind].own_data
            counts = here.play(number, kind, "own" if own else rng.choice(list(experiments)))
            found[kind] = sum_of([found[kind], counts])
    return found


def main() -> None:
    """Prints a table of the faults and what became of them; exits with 0 if nothing went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2 * len(FAULTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="stages at a time")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    given = parser.parse_args()
    play_all = partial(campaign, given.kinds, given.experiments, given.rounds, given.seed)
    seconds, found = timed(partial(play_all, given.jobs))
    print(f"{table_of(found)}\nseed {given.seed}, {seconds / 60:.0f} minutes")
    sys.exit(0 if all(one.is_good for one in found.values()) else 1)


if __name__ == "__main__":
    main()
