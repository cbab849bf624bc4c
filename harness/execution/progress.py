"""Progress display of a run: live on a terminal, one line per event elsewhere."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from harness.plan.plan import Plan, Stage

LINE_SECONDS = 15.0
"""Least time between two progress lines when not on a terminal."""


def duration(seconds: float) -> str:
    """A duration as text: `75 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class Display:
    """Progress bar over the stages, with throughput, losses and the time left.

    The executor calls `begin` once, `tick` several times a second, and `finished` or `failed` for
    each stage.
    """

    def __init__(self, plan: Plan, console: Console) -> None:
        self.plan, self.console = plan, console
        self.flops_left = 0.0
        self.flops_done = 0.0
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
        self.task = self.bar.add_task(plan.experiment.name, total=len(plan.stages), left="")
        self.live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.console.is_terminal:
            self.live.stop()

    def begin(self, todo: list[Stage]) -> None:
        """Prints how many stages are finished already."""
        total = len(self.plan.stages)
        self.flops_left = sum(stage.flops for stage in todo)
        self.bar.update(self.task, completed=total - len(todo))
        if todo:
            self.console.print(
                f"{self.plan.experiment.name}: {total} stages, {total - len(todo)} done already"
            )

    def tick(self, running: Mapping[str, dict[str, Any]]) -> None:
        """Updates the live display, or prints a line per running stage from time to time."""
        left = self._time_left(running)
        if self.console.is_terminal:
            self.bar.update(self.task, left=left)
            self.live.update(Group(self.bar, self._table(running)))
        elif time.monotonic() - self.last_line > LINE_SECONDS:
            self.last_line = time.monotonic()
            for key, figures in running.items():
                stage = self.plan.stages[key]
                line = figures_line(figures)
                self.console.print(f"  ... {stage.kind} {stage.label}: {line} {left}")

    def finished(self, stage: Stage, seconds: float) -> None:
        """Prints the stage with its duration."""
        self._advance(stage)
        self.console.print(f"  done {stage.kind} {stage.label} ({duration(seconds)})")

    def failed(self, stage: Stage, reason: str) -> None:
        """Prints the stage with the reason."""
        self._advance(stage)
        self.console.print(f"  FAILED {stage.kind} {stage.label}: {reason}", style="red")

    def _advance(self, stage: Stage) -> None:
        self.flops_done += stage.flops
        self.flops_left -= stage.flops
        self.bar.update(self.task, advance=1)

    def _time_left(self, running: Mapping[str, dict[str, Any]]) -> str:
        """Estimate from the FLOPs per second so far; empty before the first progress."""
        partly = sum(
            self.plan.stages[key].flops * figures["done"] / max(1, figures["total"])
            for key, figures in running.items()
            if figures
        )
        done = self.flops_done + partly
        if done <= 0:
            return ""
        seconds = (time.monotonic() - self.begun) * (self.flops_left - partly) / done
        return f"about {duration(seconds)} left"

    def _table(self, running: Mapping[str, dict[str, Any]]) -> Table:
        table = Table.grid(padding=(0, 2))
        for key, figures in running.items():
            stage = self.plan.stages[key]
            table.add_row(f"  {stage.kind}", stage.label, figures_line(figures))
        return table


def figures_line(figures: Mapping[str, Any]) -> str:
    """Progress figures as text: `42%, 31,000 tokens/s, loss 3.214`."""
    if not figures:
        return "starting"
    share = figures["done"] / max(1, figures["total"])
    text = f"{share:4.0%}"
    if "tokens_per_second" in figures:
        text += f", {figures['tokens_per_second']:,.0f} tokens/s"
    if "loss" in figures:
        text += f", loss {figures['loss']:.3f}"
    return text
