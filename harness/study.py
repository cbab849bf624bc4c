"""A declared experiment with its plan and its store: run it, look at it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console

from harness import leaderboard, results
from harness.declaration import Declaration, load
from harness.execute import Run, execute, read_progress, write_atomically
from harness.plan import Plan, make_plan
from harness.progress import Display
from harness.provenance import provenance
from harness.report import ReportData, write_report
from harness.tracking import Record, Store

MAX_JOBS = 8
"""Workers at a time if nothing is said: each holds its own copy of torch."""


@dataclass
class Study:
    """One experiment over one store; what it shows is read anew after each `run`."""

    declaration: Declaration
    plan: Plan
    folder: Path

    @classmethod
    def load(cls, path: Path, overrides: Sequence[str] = (), store: Path = Path("runs")) -> "Study":
        """Reads and plans an experiment file.

        Raises:
            ValueError: the file is wrong, or a data set is missing.
        """
        declaration = load(path, overrides)
        return cls(declaration, make_plan(declaration.experiment, declaration.arms), store)

    @cached_property
    def store(self) -> Store:
        return Store(self.folder)

    @property
    def records(self) -> Mapping[str, Record]:
        return self.store.finished(self.plan.stages)

    def run(self, jobs: int | None = None, console: Console | None = None) -> "Study":
        """Computes what is missing; `last_run` says what that was."""
        with Display(self.plan, console or Console(quiet=True)) as display:
            self.last_run: Run = execute(
                self.plan, self.store, jobs=jobs or default_jobs(), listener=display
            )
        return self

    def results(self) -> pd.DataFrame:
        """Every score: one row per arm, task, split, metric and seeds."""
        return results.results_frame(self.plan, self.records)

    def table(self, average: str | None = None) -> leaderboard.Table:
        """The leaderboard, by the suite's averaging rule or another."""
        return leaderboard.build(self.results(), self.plan.experiment.evaluate.suite, average)

    def leaderboard(self) -> pd.DataFrame:
        """The leaderboard as a frame."""
        return self.table().to_frame()
