"""Progress display of a run: live on a terminal, one line per event elsewhere."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from harness.core.counting import number_of
from harness.execution.estimate import Estimate, estimate
from harness.execution.notebook import NotebookBar
from harness.execution.time_left import (
    STAGE_SECONDS,
    Durations,
    Running,
    duration,
    seconds_left,
    whole_seconds,
)
from harness.plan.plan import Plan, Stage

STARTING = "starting"
"""The progress of a stage before its first report."""
LINE_SECONDS = 15.0
"""Least time between two progress lines when not on a terminal."""


class Display:
    """Progress bar over the stages, with throughput, losses and the time left.

    The executor calls `begin` once, `tick` several times a second, `finished` or `failed` for each
    stage, and `end`.
    """

    def __init__(self, plan: Plan, console: Console, earlier: Durations | None = None) -> None:
        """A display of one run.

        Args:
            earlier: durations in earlier runs, for stages unlike those of this one.
        """
        self.plan, self.console = plan, console
        self.capacity, self.workers = 1, 0
        self.durations = Durations(earlier=earlier)
        if earlier:
            self.durations.before = earlier.before
        self.waiting: dict[str, Stage] = {}
        self.started: dict[str, float] = {}
        """Key to start time of a stage."""
        self.in_new_worker: set[str] = set()
        """Stages for which a worker was started."""
        self.freed: list[float] = []
        """Times at which workers became free that are idle."""
        self.taken: dict[str, float] = {}
        """Key to the time from which the worker of a running stage was free."""
        self.mentioned: set[str] = set()
        """Stages with a line of progress."""
        self.reported: dict[str, tuple[float, float]] = {}
        """Key to time and share of updates of a stage's first progress report."""
        self.left: float | None = None
        """The latest estimate of the time left in seconds; null as long as it is unknown."""
        self.first: Estimate | None = None
        """The estimate before the run, if it is known."""
        self.first_left: tuple[float, float] | None = None
        """Otherwise the first in the run: seconds since the start, and seconds left."""
        self.begun = time.monotonic()
        self.last_line = self.begun
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("stages"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self.notebook = NotebookBar() if console.is_jupyter else None
        self.task = self.bar.add_task(plan.experiment.name, total=len(plan.stages), left="")
        self.live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.console.is_terminal:
            self.live.stop()

    def begin(self, todo: list[Stage], capacity: int) -> None:
        """Prints how many stages are finished already, and how long the others will take if that
        is known from earlier runs.

        Args:
            capacity: stages that run at a time.
        """
        total = len(self.plan.stages)
        self.capacity = capacity
        self.waiting = {stage.key: stage for stage in todo}
        self.bar.update(self.task, completed=total - len(todo))
        if todo:
            expected = estimate(todo, self.durations.earlier or Durations(), capacity)
            self.first = expected if expected.is_known else None
            stages = f"{number_of(total, 'stage')}, {total - len(todo)} done already"
            line = f"{self.plan.experiment.name}: {stages}"
            self._print(f"{line}; {expected.line}" if self.first else line)

    def submitted(self, key: str) -> None:
        """Notes that a stage was given to a worker."""
        self.started[key] = time.monotonic()
        if self.freed:
            self.taken[key] = self.freed.pop()
        else:
            self.workers += 1
            self.in_new_worker.add(key)

    def tick(self, running: Mapping[str, dict[str, Any]]) -> None:
        """Updates the live display, or prints a line per running stage from time to time."""
        left = self._time_left(running)
        self._update_notebook(running, left)
        if self.console.is_terminal:
            self.bar.update(self.task, left=left)
            self.live.update(Group(self.bar, self._table(running)))
        elif time.monotonic() - self.last_line > LINE_SECONDS:
            self.last_line = time.monotonic()
            new = {key: f for key, f in running.items() if f or key not in self.mentioned}
            self.mentioned |= set(new)
            for kind, label, line in self._rows(new):
                self._print(f"  ... {kind} {label}: {', '.join(filter(None, (line, left)))}")

    def finished(self, stage: Stage, metrics: Mapping[str, float | None]) -> None:
        """Prints a stage whose results were stored with the duration of its last attempt."""
        seconds = metrics.get(STAGE_SECONDS) or 0.0
        self.durations.add(stage.kind, stage.flops, whole_seconds(metrics))
        now, known = time.monotonic(), self.durations
        if stage.key in self.in_new_worker:
            startup = now - self.started[stage.key] - seconds - known.times.overhead
            known.startups.append(max(0.0, startup))
        elif stage.key in self.taken:
            known.gaps.append(max(0.0, now - self.taken[stage.key] - seconds))
        self.advance(stage)
        self._print(f"  done {stage.kind} {stage.label} ({duration(seconds)})")

    def failed(self, stage: Stage, reason: str) -> None:
        """Prints the stage with the reason; stages that depend on it are not waited for."""
        lost = {stage.key}
        for key, other in list(self.waiting.items()):  # parents stand before their children
            if lost.intersection(other.parents.values()):
                lost.add(key)
                del self.waiting[key]
        self.advance(stage)
        self.warn(f"  FAILED {stage.kind} {stage.label}: {reason}")

    def warn(self, message: str) -> None:
        """Prints a problem."""
        self.console.print(message, style="red", markup=False)

    def end(self) -> None:
        """Prints what was first estimated, and what the run took."""
        self._update_notebook({}, "")
        if self.freed:
            self.durations.closings.append(time.monotonic() - max(self.freed))
        if self.started:
            took = f"took {duration(time.monotonic() - self.begun)}"
            if self.first:
                took += f" (estimated before: {duration(self.first.seconds)})"
            elif self.first_left:
                after, left = self.first_left
                took += f" (estimated after {duration(after)}: {duration(after + left)})"
            self._print(took)

    def _print(self, line: str) -> None:
        self.console.print(line, markup=False)

    def advance(self, stage: Stage) -> None:
        """Counts a stage that has ended, here or in another process."""
        self.freed.append(time.monotonic())
        self.waiting.pop(stage.key, None)
        self.bar.update(self.task, advance=1)

    def _time_left(self, running: Mapping[str, dict[str, Any]]) -> str:
        """The estimate as text; empty as long as nothing is known of a kind of stage."""
        now = time.monotonic()
        active = []
        for key, figures in running.items():
            share, first = share_done(figures), (self.started[key], 0.0)
            if figures:
                first = self.reported.setdefault(key, (now, share))
            active.append(
                Running(
                    self.plan.stages[key],
                    now - first[0],
                    share,
                    first[1],
                    key in self.in_new_worker,
                )
            )
        waiting = [stage for key, stage in self.waiting.items() if key not in running]
        self.left = seconds_left(self.durations, active, waiting, self.capacity, self.workers)
        if self.left is None:
            return ""
        if self.first_left is None:
            self.first_left = now - self.begun, self.left
        return f"about {duration(self.left)} left"

    def _update_notebook(self, running: Mapping[str, dict[str, Any]], left: str) -> None:
        if self.notebook:
            done, total = int(self.bar.tasks[0].completed), len(self.plan.stages)
            name = self.plan.experiment.name
            self.notebook.update(name, done, total, left, self._rows(running))

    def _table(self, running: Mapping[str, dict[str, Any]]) -> Table:
        table = Table.grid(padding=(0, 2))
        for kind, label, line in self._rows(running):
            table.add_row(f"  {kind}", Text(label), line)
        return table

    def _rows(self, running: Mapping[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
        """Kind, label and progress of the running stages."""
        stages = [(self.plan.stages[key], figures) for key, figures in running.items()]
        return [(stage.kind, stage.label, figures_line(figures)) for stage, figures in stages]


def figures_line(figures: Mapping[str, Any]) -> str:
    """Progress figures as text: `42%, 31,000 tokens/s, loss 3.214`, or `12,000 documents, 31 MB`
    of a text whose length is not known."""
    if not figures:
        return STARTING
    is_unknown = "documents" in figures and figures["total"] == 1
    known = [] if is_unknown else [f"{share_done(figures):4.0%}"]
    if "documents" in figures:
        known += [f"{figures['documents']:,} documents"]
    if "megabytes" in figures:
        known += [f"{figures['megabytes']:,.0f} MB"]
    text = ", ".join(known)
    if "tokens_per_second" in figures:
        text += f", {figures['tokens_per_second']:,.0f} tokens/s"
    if "loss" in figures:
        text += f", loss {figures['loss']:.3f}"
    return text


def share_done(figures: Mapping[str, Any]) -> float:
    """Share of a stage's updates that are done, 0 before its first progress report."""
    return figures["done"] / max(1, figures["total"]) if figures else 0.0
