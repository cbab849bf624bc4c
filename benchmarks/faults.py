"""Runs small experiments while processes, files, limits, clocks, servers and data fail.

    python benchmarks/faults.py [--rounds 40] [--faults 5] [--seed 0] [--kinds "driver killed" ...]

Each round draws an experiment and runs it in a new store; faults of one kind happen to it at random
times, and what ends early is started again; then the same command is run until it succeeds. Kinds
take turns, in an order by the seed. Ctrl-C ends the campaign with the table of the rounds so far.

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
from dataclasses import dataclass, field, fields
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
    "adapted": """
grid: {pretrain.recipe: [bert, gpt2]}
seeds: {pretrain: 1, finetune: 2}
evaluate: {adaptation: lora, protocol: {max_train_examples: 50}}
sweep: null
""",
    "continued": """
grid: {pretrain.recipe: [bert, electra]}
seeds: {pretrain: 1, finetune: 1}
evaluate:
  protocol: {max_train_examples: 50}
  continued_pretraining: [{corpus: {source: task}, budget: {steps: 20}}]
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
    """Those for which there was something to happen to."""
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
    if fault.on_ray:
        scene.options = ["--executor", "ray"]
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


@dataclass
class Disturbed:
    """What the faults of a round did before the last run."""

    happened: int = 0
    in_time: bool = True
    """Whether all processes have ended in time."""
    recorded: set[str] = field(default_factory=set)
    """Keys of the stages that the store had after any of the runs."""


def disturb(
    fault: Fault, scene: Scene, num_faults: int, num_stages: int, patience: float
) -> Disturbed:
    """Starts runs, and lets the fault happen to them, until one of them succeeds in spite of it."""
    found = Disturbed()
    due = sorted(scene.rng.sample(range(num_stages), min(num_faults, num_stages)))
    while due and found.in_time:
        scene.limits = fault.limits(scene.rng) if fault.limits else None
        scene.process = scene.start()
        scene.limits = None
        happened = _happen(fault, scene, due, patience) if fault.happens else 1
        del due[: max(1, happened)]
        found.happened += happened
        found.in_time = wait(scene.processes, patience)
        if scene.restore:
            scene.restore()
        found.recorded |= _recorded(scene)
        if scene.process.returncode == 0:
            break
    return found


def _happen(fault: Fault, scene: Scene, due: Sequence[int], patience: float) -> int:
    """Lets the fault happen to a run whenever so many stages have finished.

    Returns:
        How often it did before the run ended.
    """
    assert fault.happens
    until, happened = time.monotonic() + patience, 0
    for one in due[: fault.per_run]:
        while num_finished(scene.store) < one and _goes_on(scene, until):
            time.sleep(0.1)
        time.sleep(scene.rng.uniform(0, 1))
        while not (done := fault.happens(scene)) and _goes_on(scene, until):
            time.sleep(0.1)
        happened += done
        if not _goes_on(scene, until):
            break
    return happened


def _goes_on(scene: Scene, until: float) -> bool:
    return scene.process.poll() is None and time.monotonic() < until


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


def play(
    fault: Fault, scene: Scene, expected: bytes, num_faults: int, num_stages: int, patience: float
) -> Counts:
    """One round.

    Args:
        expected: leaderboard of an undisturbed run.
        patience: seconds after which a run hangs.
    """
    found = disturb(fault, scene, num_faults, num_stages, patience)
    table, ended = complete(scene, patience)
    return Counts(
        rounds=1,
        faults=found.happened,
        wrong=int(table is not None and table != expected),
        lost=len(found.recorded - scene.damaged - scene.finished().keys()),
        repeated=len(set(started_again(scene.store)) - scene.damaged),
        stuck=int(not (found.in_time and ended)),
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
    faults: int
    """In a round."""
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
            counts = play(fault, scene, expected, self.faults, stages, 120 + 10 * seconds)
        found = ", ".join(f"{value} {name}" for name, value in vars(counts).items() if value)
        print(f"{number + 1}: {kind}, {experiment}: {found}", flush=True)
        if not counts.is_good:
            print(scene.log.read_text()[-LOG_END:], flush=True)
        return counts


def campaign(
    kinds: Sequence[str],
    experiments: Sequence[str],
    rounds: int,
    faults: int,
    seed: int,
    jobs: int,
) -> dict[str, Counts]:
    """Plays so many rounds, or fewer if it is interrupted; kind to counts."""
    rng = random.Random(seed)
    order = rng.sample(list(kinds), len(kinds))
    found = {kind: Counts() for kind in kinds}
    with TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        here = Campaign(Path(folder), rng, faults, jobs)
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
    parser.add_argument("--faults", type=int, default=5, help="of a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="stages at a time")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    given = parser.parse_args()
    play_all = partial(campaign, given.kinds, given.experiments, given.rounds, given.faults)
    seconds, found = timed(partial(play_all, given.seed, given.jobs))
    print(f"{table_of(found)}\nseed {given.seed}, {seconds / 60:.0f} minutes")
    sys.exit(0 if all(one.is_good for one in found.values()) else 1)


if __name__ == "__main__":
    main()
