"""The main object of the Python API: an experiment with its plan, its store and its results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console

from harness.analysis.frames.scores import probes_frame, scores_frame
from harness.analysis.recording import record_results
from harness.analysis.results import Results
from harness.analysis.seed_spread import spread_in
from harness.analysis.statistics.bootstrap import Runs
from harness.analysis.unseparated import unseparated
from harness.core.config import as_declared, unknown_name
from harness.exchange.checkpoints.arm_models import ArmModels
from harness.execution.execution_result import Execution
from harness.execution.outlook import Outlook, outlook
from harness.execution.run_plan import run_plan
from harness.execution.status import stage_states
from harness.experiment.data_frames import with_files
from harness.experiment.declaration import Declaration, from_data, load
from harness.experiment.plugins import add_plugin
from harness.leaderboard.boards import ranked_table
from harness.leaderboard.build import experiment_runs
from harness.leaderboard.table import Table
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.report.looks import remember_look
from harness.store.store import Store, existing_store

if TYPE_CHECKING:
    from harness.execution.finetuned_model import FinetunedModel
    from harness.experiment.experiment import Experiment
    from harness.report.layout import Plot
    from harness.report.summary import Summary
    from harness.report.two_arms.arm_comparison import ArmComparison


class Study:
    """An experiment and its results in a store. Every method reads the current results; what shows
    them raises ValueError if no stage has finished."""

    def __init__(self, declaration: Declaration, store: str | Path = "runs") -> None:
        """Use `load` or `declare`; `declaration` is not checked for missing data."""
        self.declaration, self.folder = declaration, Path(store)
        self.last_run = Execution()

    @classmethod
    def load(
        cls,
        path: str | Path,
        overrides: Sequence[str] = (),
        store: str | Path = "runs",
        variants: Sequence[str] = (),
    ) -> "Study":
        """Reads an experiment file.

        Args:
            path: a file, or the name of a shipped experiment.
            overrides: `path=value`, as for `--set`.
            store: folder of results.
            variants: names of variants declared in the file.

        Raises:
            ValueError: the file is invalid or data are missing; every problem with its line.
        """
        return cls(load(Path(path), overrides, variants, with_data=True), store)

    @classmethod
    def declare(
        cls,
        experiment: "Mapping[str, Any] | Experiment",
        overrides: Sequence[str] = (),
        plugins: Sequence[Any] = (),
        store: str | Path = "runs",
        variants: Sequence[str] = (),
    ) -> "Study":
        """An experiment declared in Python; for the arguments, see `harness.declare`.

        Raises:
            ValueError: the experiment is invalid or data are missing; one line per problem.
        """
        data: dict[str, Any] = as_declared(experiment)
        if names := [add_plugin(plugin) for plugin in plugins]:
            data["plugins"] = [*data.get("plugins", ()), *names]
        files = with_files(data, Path(store) / "data")
        return cls(from_data(files, overrides, variants, with_data=True), store)

    def __repr__(self) -> str:
        store, stages = existing_store(self.folder), self.plan.stages
        done = len(store.finished(stages)) if store else 0
        return f"<Study {self.name}: {len(self.plan.arms)} arms; {done}/{len(stages)} stages done>"

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.experiment.name

    @property
    def experiment(self) -> "Experiment":
        """The experiment as declared."""
        return self.declaration.experiment

    @cached_property
    def plan(self) -> Plan:
        """Arms, stages and costs."""
        return make_plan(self.declaration)

    def outlook(self, jobs: int | None = None) -> Outlook:
        """What is known before a run of `jobs` stages at a time: costs, warnings, duration."""
        store = existing_store(self.folder)
        known = outlook(self.plan, store, jobs)
        return replace(known, warnings=(*known.warnings, *unseparated(self.plan, store)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes an answer unlikely, such as few updates; a line each."""
        return self.outlook().warnings

    @cached_property
    def store(self) -> Store:
        """The store of the results."""
        return Store(self.folder)

    @property
    def results(self) -> Results:
        """The results of the stages that are finished now."""
        return Results(self.plan, self.store)

    def run(
        self,
        jobs: int | None = None,
        console: Console | None = None,
        executor: str | None = None,
        raise_on_failure: bool = True,
        address: str | None = None,
    ) -> "Study":
        """Computes missing stages, and returns the study; its `last_run` lists computed and failed.

        Args:
            jobs: number of parallel stages; null: the number of CPUs, at most 8; with GPUs one for
                each, or more for small networks.
            console: of the progress display; null: standard error, or a bar in notebooks.
            executor: a name in `BACKENDS`; null: processes, or serial for plug-ins as objects.
            raise_on_failure: whether failed stages raise an error at the end of the run.
            address: of a Ray cluster, see `harness.execution.backends.ray_tasks`.

        Raises:
            ValueError: the executor does not take these arguments, or is not installed.
            StagesFailedError: stages failed; the results of the others are kept.
        """
        self.last_run = run_plan(self.plan, self.store, jobs, console, executor, address)
        record_results(self.results)
        if raise_on_failure:
            self.last_run.raise_failures(self.plan)
        return self

    def scores(self) -> pd.DataFrame:
        """All scores: one row per arm, task, split, metric and pair of seeds."""
        return self.results.get(scores_frame)

    def probes(self) -> pd.DataFrame:
        """Accuracies of the probes: one row per arm, probe, category and pretraining seed."""
        return self.results.get(probes_frame)

    def table(
        self,
        average: str | None = None,
        tasks: Sequence[str] | None = None,
        quantities: Sequence[str] = (),
    ) -> Table:
        """The leaderboard with published rows; arms that do not differ significantly share a rank.

        Args:
            average: averaging rule; null: that of the suite, or the mean of all columns of `tasks`.
            tasks: some tasks of the experiment; null: all.
            quantities: more columns, such as `perplexity` and `bits_per_byte`.

        Raises:
            ValueError: no run has finished, a task, a quantity or the averaging rule is unknown, or
                the rule uses tasks that the suite does not have.
        """
        return ranked_table(self.results.require(scores=True), average, tasks, quantities)

    def leaderboard(
        self, average: str | None = None, tasks: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The leaderboard as a data frame, scores x 100; see `table`."""
        return self.table(average, tasks).to_frame()

    def compare(
        self,
        first: str,
        second: str,
        other: "Study | None" = None,
        average: str | None = None,
    ) -> "ArmComparison":
        """The difference between two arms: of each column and of the average, with intervals and p,
        flipped examples and differing fields. Notebooks display it.

        Args:
            first: an arm of this study.
            second: an arm of `other`, or of this study; or `EXPERIMENT:ARM` of recorded or
                imported results in the store, or `EXPERIMENT` alone for its only arm.
            average: averaging rule; null: that of the suite.

        Raises:
            ValueError: an unknown arm, no scores, or studies of other suites, protocols or data.
        """
        from harness.report.two_arms.compare_measured import compare

        results = remember_look(self.results)
        beside = other.results if other else results
        return compare((results, first), (beside, second), average)

    def resampled(self) -> dict[str, dict[str, Runs]]:
        """Arm to task to scores of its runs on bootstrap samples, for `analysis.statistics`."""
        return self.results.get(experiment_runs)

    def figures(self) -> "dict[str, Plot]":
        """Name to figure of the report; notebooks display them."""
        from harness.report.page import report_figures

        return report_figures(self.results.require())

    def summary(self) -> "Summary":
        """Verdicts on the expected differences, and threats to validity."""
        from harness.report.summary import summary

        return summary(remember_look(self.results.require()))

    def write_report(self, out: str | Path | None = None) -> Path:
        """Writes the comparison report and returns its folder.

        Args:
            out: folder; null: reports/<name> in the store.
        """
        from harness.report.page import write_report

        folder = Path(out) if out else self.folder / "reports" / self.name
        write_report(remember_look(self.results.require()), folder)
        return folder

    def model(self, arm: str | None = None, seed: int | None = None) -> tuple[Any, Any]:
        """A pretrained model as transformers loads it, with the pretraining head if transformers
        has one, and its tokenizer.

        Args:
            arm: null: the only arm.
            seed: pretraining seed; null: the first.

        Raises:
            ValueError: the arm or seed does not exist, or its pretraining is not finished.
        """
        return ArmModels(self.results, arm).load(seed)

    def __getitem__(self, arm: str) -> ArmModels:
        """The pretrained models of an arm: `study["bert"].model(seed=0)`.

        Raises:
            KeyError: there is no such arm.
        """
        names = [one.name for one in self.plan.arms]
        if arm not in names:
            raise KeyError(unknown_name("the arm", arm, names))
        return ArmModels(self.results, arm)

    def finetuned(
        self, task: str, arm: str | None = None, pretrain_seed: int = 0, finetune_seed: int = 0
    ) -> "FinetunedModel":
        """The model of one fine-tuning run; needs `evaluate.save_weights: true`.

        Args:
            arm: null: the only one.

        Raises:
            ValueError: there is no such run, it is not finished, or its weights were not saved.
        """
        from harness.execution.finetuned_model import finetuned_of

        return finetuned_of(self.plan, self.store, task, arm, pretrain_seed, finetune_seed)

    def status(self) -> pd.DataFrame:
        """One row per stage: key, kind, label, state, detail and seconds; see
        `harness.execution.status.stage_states`."""
        return stage_states(self.plan, self.store, self.results.finished)

    def _repr_html_(self) -> str:
        """What a notebook shows: the plan, and the leaderboard once there are scores."""
        from harness.report.notebook import study_html

        spread = spread_in(existing_store(self.folder), self.experiment.evaluate)
        return study_html(self.outlook(), spread, self.table() if self.results.scored else None)
