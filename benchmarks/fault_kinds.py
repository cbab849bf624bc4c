"""The kinds of faults of `faults.py`: what happens to a run, its files, limits and server."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copyfile

from benchmarks.common import environment
from benchmarks.faulty_proxy import FaultyProxy, Mode
from harness.execution.lease import LEASE_SECONDS
from harness.store.artifacts import resolve
from harness.store.finished_runs import SNAPSHOT
from harness.store.store import StageResult, Store

SERVER_SECONDS = 60
"""HARNESS_SERVER_SECONDS of the runs."""
OUTAGE_SECONDS = (2.0, 15.0)
MB = 2**20


@dataclass
class Scene:
    """A run, and where it happens."""

    experiment: Path
    """Its file; `OWN_DATA` may stand beside it."""
    store: Path
    rng: random.Random
    jobs: int = 2
    """Stages at a time."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the environment of the run."""
    options: Sequence[str] = ()
    """Of `harness run`."""
    proxy: FaultyProxy | None = None
    limits: Callable[[], None] | None = None
    """Sets limits of the processes of the run that is started next."""
    damaged: set[str] = field(default_factory=set)
    """Keys of stages whose files were damaged, which may be computed again."""
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    process: "subprocess.Popen[bytes]" = field(init=False)
    """The run that faults happen to, which is one of them."""
    restore: Callable[[], object] | None = None
    """Undoes the fault once the run has ended."""

    @property
    def log(self) -> Path:
        """What the processes print."""
        return self.store.with_suffix(".log")

    def start(self) -> "subprocess.Popen[bytes]":
        """Starts `harness run` in a new process group."""
        words = ["run", str(self.experiment), "--store", str(self.store), "--jobs", str(self.jobs)]
        words += self.options
        with self.log.open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness", *words],
                stdout=log,
                stderr=log,
                env={**os.environ, **self.variables},
                start_new_session=True,
                cwd=self.experiment.parent,  # where its data are
                preexec_fn=self.limits,
            )
        self.processes.append(process)
        return process

    def finished(self) -> dict[str, StageResult]:
        """Key to result of the stages that the store has."""
        with environment(**self.variables):
            return Store(self.store).finished()


Happens = Callable[[Scene], bool]
"""What happens while the run goes on; whether there was something for it to happen to."""


def kill_worker(scene: Scene) -> bool:
    """SIGKILL of a process that computes stages, as by the kernel when memory is short."""
    workers = children(scene.process.pid)
    if workers:
        kill(scene.rng.choice(workers))
    return bool(workers)


def kill_worker_of_ray(scene: Scene) -> bool:
    """SIGKILL of a process in which Ray computes stages."""
    workers = [one for one in descendants(scene.process.pid) if _is_of_ray(one)]
    if workers:
        kill(scene.rng.choice(workers))
    return bool(workers)


def kill_driver(scene: Scene) -> bool:
    """SIGKILL of the process of `harness run`; its workers must notice by themselves."""
    is_running = scene.process.poll() is None
    scene.process.kill()
    return is_running


def kill_all(scene: Scene) -> bool:
    """SIGKILL of all processes of the run, as when the power fails."""
    is_running = scene.process.poll() is None
    if is_running:
        os.killpg(scene.process.pid, signal.SIGKILL)
        scene.process.wait()
    return is_running


def damage_artifact(scene: Scene) -> bool:
    """Other bytes in a file of a finished stage."""
    return (found := _artifact(scene)) is not None and _damage(scene, found)


def delete_artifact(scene: Scene) -> bool:
    """The files of a finished stage are gone."""
    if (folder := _artifact(scene)) is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)  # the run may be doing so itself
    return True


def damage_cache(scene: Scene) -> bool:
    """Other bytes in a file that was downloaded from the server."""
    folders = list(Path(scene.variables["HARNESS_CACHE"]).glob("*[0-9a-f]"))
    return _damage(scene, *folders)


def damage_snapshot(scene: Scene) -> bool:
    """Other bytes in the cache of finished runs."""
    path = scene.store / f"{SNAPSHOT}.db"
    if not path.exists():
        return False
    path.write_bytes(scene.rng.randbytes(path.stat().st_size))
    return True


def damage_checkpoint(scene: Scene) -> bool:
    """A run is killed, and a checkpoint of an unfinished stage is damaged."""
    if not any(scene.store.glob("work/*/state/*")):
        return False
    kill_all(scene)
    return _damage(scene, *scene.store.glob("work/*/state"))


def back_date_leases(scene: Scene) -> bool:
    """The clock of another machine is ahead: to a second driver, leases look as if nobody had
    renewed them."""
    leases = list(scene.store.glob("work/*.lease"))
    for path in leases:
        past = time.time() - 2 * LEASE_SECONDS
        os.utime(path, (past, past))
    return bool(leases) and start_second(scene)


def start_second(scene: Scene) -> bool:
    """A second driver on the same store."""
    scene.start()
    return True


def change_data(scene: Scene) -> bool:
    """A row more in the file of a task, until the run has ended."""
    data = scene.experiment.with_name(OWN_DATA)
    _restored_later(scene, data)
    with data.open("a") as file:
        file.write("a row more,good\n")
    return True


def remove_data(scene: Scene) -> bool:
    """The file of a task is gone until the run has ended."""
    data = scene.experiment.with_name(OWN_DATA)
    _restored_later(scene, data)
    data.unlink()
    return True


def fail_server(mode: Mode, scene: Scene) -> bool:
    """The server fails for some seconds, in one of the ways of `FaultyProxy`."""
    assert scene.proxy
    before, scene.proxy.mode = scene.proxy.refused, mode
    time.sleep(scene.rng.uniform(*OUTAGE_SECONDS))
    scene.proxy.mode = "well"
    return scene.proxy.refused > before


def limit(what: int, least: int, most: int, rng: random.Random) -> Callable[[], None]:
    """Sets a resource limit of a new process, drawn between `least` and `most`."""
    drawn = rng.randrange(least, most)
    return partial(resource.setrlimit, what, (drawn, drawn))


@dataclass(frozen=True)
class Fault:
    """A kind of fault: what happens during a run, or the limits that the run has."""

    happens: Happens | None = None
    limits: Callable[[random.Random], Callable[[], None]] | None = None
    on_server: bool = False
    """Whether the store is on a server."""
    own_data: bool = False
    """Whether the experiment has a task of its own, in a file."""
    on_ray: bool = False
    """Whether Ray computes the stages."""
    per_run: int = 100
    """How often it may happen to one run."""


FAULTS: dict[str, Fault] = {
    "worker killed": Fault(kill_worker),
    "driver killed": Fault(kill_driver),
    "all processes killed": Fault(kill_all),
    "artifact damaged": Fault(damage_artifact),
    "artifact deleted": Fault(delete_artifact),
    "snapshot damaged": Fault(damage_snapshot),
    "checkpoint damaged": Fault(damage_checkpoint),
    "disk full": Fault(limits=partial(limit, resource.RLIMIT_FSIZE, MB // 20, 2 * MB)),
    "few open files": Fault(limits=partial(limit, resource.RLIMIT_NOFILE, 16, 100)),
    "little memory": Fault(limits=partial(limit, resource.RLIMIT_AS, 512 * MB, 4096 * MB)),
    "clock set back": Fault(back_date_leases, per_run=1),
    "second driver": Fault(start_second, per_run=1),
    "task file changed": Fault(change_data, own_data=True, per_run=1),
    "task file removed": Fault(remove_data, own_data=True, per_run=1),
    "download damaged": Fault(damage_cache, on_server=True),
    "server closes connections": Fault(partial(fail_server, "closed"), on_server=True),
    "server hangs": Fault(partial(fail_server, "silent"), on_server=True),
    "server answers 500": Fault(partial(fail_server, "error"), on_server=True),
    "worker of Ray killed": Fault(kill_worker_of_ray, on_ray=True),
    "driver on Ray killed": Fault(kill_driver, on_ray=True),
}
"""Name to fault. Limits stand for a full disk, as files cannot grow, and for other lacks."""

OWN_DATA = "own.csv"


def children(parent: int) -> list[int]:
    """Ids of the processes that a process has started; empty if it has ended."""
    try:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(word) for word in text.split()]


def descendants(parent: int) -> Iterator[int]:
    """Ids of the processes below a process."""
    for child in children(parent):
        yield child
        yield from descendants(child)


def _is_of_ray(process: int) -> bool:
    """Whether a process computes stages for Ray, which names it so."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::")
    return False


def kill(process: int) -> None:
    """SIGKILL of a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _artifact(scene: Scene) -> Path | None:
    """The folder of a finished stage, which is counted as damaged; null if there is none."""
    finished = sorted(scene.finished().values(), key=lambda one: one.key)
    folders = {one.key: resolve(one.artifact_uri) for one in finished}
    there = [key for key, folder in folders.items() if folder.is_dir()]  # not deleted before
    if not there:
        return None
    key = scene.rng.choice(there)
    scene.damaged.add(key)
    return folders[key]


def _damage(scene: Scene, *folders: Path) -> bool:
    """Replaces the content of one of the files, or of one below the folders, by other bytes.

    Returns:
        Whether there is any.
    """
    found = (file for folder in folders for file in (folder, *folder.rglob("*")))
    files = sorted(file for file in found if file.is_file())
    if not files:
        return False
    file = scene.rng.choice(files)
    try:
        size = max(1, file.stat().st_size)
        with file.open("r+b") as content:
            content.write(scene.rng.randbytes(size))
    except FileNotFoundError:  # the run has removed it meanwhile
        return False
    return True


def _restored_later(scene: Scene, data: Path) -> None:
    copy = data.with_suffix(".copy")
    copyfile(data, copy)
    scene.restore = partial(copyfile, copy, data)
