"""Runs a Plan in local processes: resume, failure policy, progress."""

import os
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import Any

from filelock import FileLock

from harness.execution.worker import Order, clean, perform, read_progress, start_worker
from harness.plan.plan import Plan, Stage
from harness.store.store import Record, Store

POLL_SECONDS = 0.2
MAX_JOBS = 8
"""Workers at a time if nothing is said: each holds its own copy of torch."""


@dataclass
class Run:
    """What `execute` did."""

    done: dict[str, Record] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Key to the one line that says why."""
    computed: list[str] = field(default_factory=list)
    """Keys of the stages that this call computed, in the order of their ends."""


class Listener:
    """What an observer of a run may hear; the default hears nothing."""

    def begin(self, todo: list[Stage]) -> None: ...
    def tick(self, running: Mapping[str, dict[str, Any]]) -> None: ...
    def finished(self, stage: Stage, seconds: float) -> None: ...
    def failed(self, stage: Stage, reason: str) -> None: ...


def execute(
    plan: Plan, store: Store, *, jobs: int | None = None, listener: Listener | None = None
) -> Run:
    """Computes every stage of `plan` that the store lacks, `jobs` at a time (null: `default_jobs`).

    A failed stage fails alone: what depends on it is left out, the rest goes on.
    """
    listener = listener or Listener()
    run = Run(done=store.finished(plan.stages))
    todo = _needed(plan, run.done)
    listener.begin([plan.stages[key] for key in todo])
    if todo:
        for key in run.done:  # a kill between storing and cleaning leaves files behind
            clean(store.root / "work" / key)
        _Executor(plan, store, run, todo, listener).loop(jobs or default_jobs())
    return run


def _needed(plan: Plan, done: Mapping[str, Any]) -> list[str]:
    """Unfinished results, and the unfinished stages that they wait for, parents first."""
    wanted = {key for key in plan.stages if key not in done and _is_result(plan.stages[key])}
    for key in reversed(list(plan.stages)):
        if key in wanted:
            wanted |= {parent for parent in plan.stages[key].parents.values() if parent not in done}
    return [key for key in plan.stages if key in wanted]


def _is_result(stage: Stage) -> bool:
    """Whether people look at this stage; the others are only made for those."""
    return stage.kind in ("pretrain", "continued", "loss", "probe", "tune", "finetune")


class _Executor:
    """The loop: submit what is ready, take what is finished."""

    def __init__(
        self, plan: Plan, store: Store, run: Run, todo: list[str], listener: Listener
    ) -> None:
        self.plan, self.store, self.run, self.listener = plan, store, run, listener
        self.waiting = list(todo)
        self.retried: set[str] = set()
        self.folders: dict[str, Path] = {}
        self.work = store.root / "work"
        self.work.mkdir(parents=True, exist_ok=True)

    def loop(self, jobs: int) -> None:
        """Works until nothing more can be done; a pool whose worker died is replaced."""
        while self.waiting and self._work_with_pool(jobs):
            pass

    def _work_with_pool(self, jobs: int) -> bool:
        """Returns whether the pool broke and work is left."""
        running: dict[Future[dict[str, Any] | None], str] = {}
        pool = ProcessPoolExecutor(
            jobs,
            mp_context=get_context("spawn"),
            initializer=start_worker,
            initargs=(os.getpid(), threads_per_worker(jobs)),
        )
        broken = False
        while (self.waiting or running) and not (broken and not running):
            while not broken and len(running) < jobs and (key := self._next_ready()):
                running[pool.submit(perform, self._order(key))] = key
            if not running:
                break
            ended, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            now_running = running.values()
            self.listener.tick({key: read_progress(self.work / key) for key in now_running})
            for future in ended:
                broken |= isinstance(future.exception(), BrokenProcessPool)
                self._take(running.pop(future), future)
        pool.shutdown()  # not in a `with`: an interrupted run does not wait for its workers
        return broken

    def _next_ready(self) -> str | None:
        """The costliest stage whose parents are all there; damaged parents are made again."""
        ready = [key for key in self.waiting if self._parents_done(key)]
        for key in sorted(ready, key=lambda key: -self.plan.stages[key].flops):
            if self._parents_sound(key):
                self.waiting.remove(key)
                return key
        return None

    def _parents_done(self, key: str) -> bool:
        return all(parent in self.run.done for parent in self.plan.stages[key].parents.values())

    def _parents_sound(self, key: str) -> bool:
        """Checks the files that `key` needs; takes a damaged stage up again, with its parents."""
        for parent in self.plan.stages[key].parents.values():
            if parent in self.folders:
                continue
            folder = self.store.fetch(self.run.done[parent])
            if folder is None:
                self.store.forget(self.run.done.pop(parent))
                self.waiting.insert(0, parent)
                return False
            self.folders[parent] = folder
        return True

    def _order(self, key: str) -> Order:
        stage = self.plan.stages[key]
        folder = self.work / key
        if (folder / "result.json").exists() and not (folder / "out").exists():
            rmtree(folder)  # finished once, but no longer in the store
        inputs = {role: str(self.folders[parent]) for role, parent in stage.parents.items()}
        compute = self.plan.experiment.compute
        root = str(self.store.root)
        return Order(stage.kind, key, dict(stage.spec), inputs, compute, str(folder), root)

    def _take(self, key: str, future: "Future[dict[str, Any] | None]") -> None:
        stage = self.plan.stages[key]
        error = future.exception()
        if isinstance(error, BrokenProcessPool) and key not in self.retried:
            self.retried.add(key)
            self.waiting.insert(0, key)
            return
        if error is not None:
            self._fail(stage, f"{type(error).__name__}: {error}")
            return
        result = future.result()
        with FileLock(self.store.root / "record.lock"):
            record = self.store.find(key)
            if record is None:
                if result is None:
                    self._fail(stage, "another process finished it but did not store it; run again")
                    return
                spec = {**stage.spec, "parents": stage.parents}
                out = self.work / key / "out"
                record = self.store.record(
                    key,
                    stage.kind,
                    stage.label,
                    spec,
                    result["metrics"],
                    out,
                    made_with=result.get("made_with", ""),
                )
                self.run.computed.append(key)
                self.listener.finished(stage, result["metrics"]["seconds"])
        self.run.done[key] = record
        clean(self.work / key)

    def _fail(self, stage: Stage, reason: str) -> None:
        self.run.failed[stage.key] = reason
        self.listener.failed(stage, reason)


def default_jobs() -> int:
    """One worker for a GPU; else one for each CPU core: two small models side by side train faster
    than one on two threads."""
    from torch import cuda

    return 1 if cuda.is_available() else min(MAX_JOBS, os.cpu_count() or 1)


def threads_per_worker(jobs: int) -> int:
    """CPU threads of each worker, so that all together use the machine once."""
    return max(1, (os.cpu_count() or 1) // jobs)
