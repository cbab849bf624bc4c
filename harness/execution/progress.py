"""Progress display of a run: live on a terminal, one line per event elsewhere."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from harness.execution.notebook import NotebookBar
from harness.execution.time_left import Durations, Running, duration, seconds_left
from harness.plan.plan import Plan, Stage

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
            earlier: durations in earlier runs, for kinds of stages that have not ended in this one.
        """
        self.plan, self.console = plan, console
        self.capacity = 1
        self.durations = Durations(earlier=earlier)
        self.waiting: dict[str, Stage] = {}
        self.started: dict[str, float] = {}
        """Key to start time of a stage."""
        self.reported: dict[str, tuple[float, float]] = {}
        """Key to time and share of updates of a stage's first progress report."""
        self.left: float | None = None
        """The latest estimate of the time left in seconds; null as long as it is unknown."""
        self.estimate: float | None = None
        """The first estimate of the whole duration, in seconds."""
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
            self.estimate = seconds_left(self.durations, [], todo, capacity)
            expected = f", about {duration(self.estimate)} to go" if self.estimate else ""
            self.console.print(
                f"{self.plan.experiment.name}: {total} stages, {total - len(todo)} done already"
                f"{expected}"
            )

    def tick(self, running: Mapping[str, dict[str, Any]]) -> None:
        """Updates the live display, or prints a line per running stage from time to time."""
        left = self._time_left(running)
        self._update_notebook(running, left)
        if self.console.is_terminal:
            self.bar.update(self.task, left=left)
            self.live.update(Group(self.bar, self._table(running)))
        elif time.monotonic() - self.last_line > LINE_SECONDS:
            self.last_line = time.monotonic()
            for key, figures in running.items():
                stage = self.plan.stages[key]
                line = figures_line(figures)
                self.console.print(f"  ... {stage.kind} {stage.label}: {line} {left}")

    def finished(self, stage: Stage, seconds: float, recording: float = 0.0) -> None:
        """Prints the stage with its duration.

        Args:
            recording: seconds in which its results were stored.
        """
        _, before = self.reported.get(stage.key, (0.0, 0.0))  # done before it was resumed
        whole = seconds / (1 - before) if before < 1 else seconds
        self.durations.add(stage.kind, stage.flops, whole + recording)
        self._advance(stage)
        self.console.print(f"  done {stage.kind} {stage.label} ({duration(seconds)})")

    def failed(self, stage: Stage, reason: str) -> None:
        """Prints the stage with the reason; stages that depend on it are not waited for."""
        lost = {stage.key}
        for key, other in list(self.waiting.items()):  # parents stand before their children
            if lost.intersection(other.parents.values()):
                lost.add(key)
                del self.waiting[key]
        self._advance(stage)
        self.console.print(f"  FAILED {stage.kind} {stage.label}: {reason}", style="red")

    def warn(self, message: str) -> None:
        """Prints a problem that concerns no stage."""
        self.console.print(message, style="red", markup=False)

    def end(self) -> None:
        """Prints what the run took and what was first estimated."""
        self._update_notebook({}, "")
        if self.started:
            took = duration(time.monotonic() - self.begun)
            first = f"; estimated {duration(self.estimate)}" if self.estimate else ""
            self.console.print(f"took {took}{first}")

    def _advance(self, stage: Stage) -> None:
        self.waiting.pop(stage.key, None)
        self.bar.update(self.task, advance=1)

    def _time_left(self, running: Mapping[str, dict[str, Any]]) -> str:
        """The estimate as text; empty as long as nothing is known of a kind of stage."""
        now = time.monotonic()
        active = []
        for key, figures in running.items():
            share, first = share_done(figures), (self.started.setdefault(key, now), 0.0)
            if figures:
                first = self.reported.setdefault(key, (now, share))
            active.append(Running(self.plan.stages[key], now - first[0], share, first[1]))
        waiting = [stage for key, stage in self.waiting.items() if key not in running]
        self.left = seconds_left(self.durations, active, waiting, self.capacity)
        if self.left is None:
            return ""
        if self.estimate is None:
            self.estimate = now - self.begun + self.left
        return f"about {duration(self.left)} left"

    def _update_notebook(self, running: Mapping[str, dict[str, Any]], left: str) -> None:
        if self.notebook:
            done, total = int(self.bar.tasks[0].completed), len(self.plan.stages)
            name = self.plan.experiment.name
            self.notebook.update(name, done, total, left, self._rows(running))

    def _table(self, running: Mapping[str, dict[str, Any]]) -> Table:
        table = Table.grid(padding=(0, 2))
        for kind, label, line in self._rows(running):
            table.add_row(f"  {kind}", label, line)
        return table

    def _rows(self, running: Mapping[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
        """Kind, label and progress of the running stages."""
        stages = [(self.plan.stages[key], figures) for key, figures in running.items()]
        return [(stage.kind, stage.label, figures_line(figures)) for stage, figures in stages]


def figures_line(figures: Mapping[str, Any]) -> str:
    """Progress figures as text: `42%, 31,000 tokens/s, loss 3.214`, or `12,000 documents` of
    a text whose length is not known."""
    if not figures:
        return "starting"
    if "documents" in figures:
        return f"{figures['documents']:,} documents"
    text = f"{share_done(figures):4.0%}"
    if "tokens_per_second" in figures:
        text += f", {figures['tokens_per_second']:,.0f} tokens/s"
    if "loss" in figures:
        text += f", loss {figures['loss']:.3f}"
    return text


def share_done(figures: Mapping[str, Any]) -> float:
    """Share of a stage's updates that are done, 0 before its first progress report."""
    return figures["done"] / max(1, figures["total"]) if figures else 0.0
