"""A declared experiment with its plan and its store: run it, look at it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pandas as pd
import yaml
from rich.console import Console

from harness.analysis.comparison.differences import same_checkpoints
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.adaptation import (
    adaptation_costs_frame,
    label_counts,
    records_frame,
    retained_frame,
    trained_parameters,
)
from harness.analysis.frames.continued_pretraining import losses_frame
from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.probes import probes_frame
from harness.analysis.frames.runs import curves_frame, pretraining_frame, runs_frame
from harness.analysis.frames.scores import checkpoints_frame, forgetting_frame, results_frame
from harness.analysis.frames.stage_files import counts_reader, predictions_reader
from harness.analysis.frames.trials import trials_frame
from harness.analysis.statistics.bootstrap import Runs
from harness.cli.plan_summary import obstacle_lines
from harness.execution.executor import Run, execute
from harness.execution.progress import Display, figures_line
from harness.execution.provenance import fingerprints, makers, provenance, run_again
from harness.execution.worker import read_progress
from harness.experiment.declaration import Declaration
from harness.experiment.evaluation import Evaluate
from harness.leaderboard.boards import StoredRuns, tied
from harness.leaderboard.build import build
from harness.leaderboard.published import board_of_suite
from harness.leaderboard.table import Table, protocol_line
from harness.plan.contract import flat_fields
from harness.plan.factory import load_plan
from harness.plan.plan import Plan, Stage
from harness.pretraining.budget import FLOPS_CONVENTION
from harness.report.data import ReportData
from harness.report.page import write_report
from harness.store.store import Record, Store

FEW_STAGES = 5
"""Unfinished stages that a report names one by one, at most."""


@dataclass
class Study:
    """One experiment over one store; what it shows is read anew each time."""

    declaration: Declaration
    plan: Plan
    folder: Path
    last_run: Run = field(default_factory=Run)

    @classmethod
    def load(cls, path: Path, overrides: Sequence[str] = (), store: Path = Path("runs")) -> "Study":
        """Reads and plans an experiment file.

        Raises:
            ValueError: the file is wrong, or a data set is missing.
        """
        return cls(*load_plan(path, overrides), store)

    @cached_property
    def store(self) -> Store:
        return Store(self.folder)

    @property
    def records(self) -> Mapping[str, Record]:
        """Key to record of the stages that are finished."""
        return self.store.finished(self.plan.stages)

    def run(self, jobs: int | None = None, console: Console | None = None) -> "Study":
        """Computes what is missing; `last_run` says what that was."""
        with Display(self.plan, console or Console(quiet=True)) as display:
            self.last_run = execute(self.plan, self.store, jobs=jobs, listener=display)
        if self.last_run.computed or self.name not in self.store.experiments():
            self._record()
        return self

    def results(self) -> pd.DataFrame:
        """Every score: one row per arm, task, split, metric and seeds."""
        return results_frame(self.plan, self.records)

    def probes(self) -> pd.DataFrame:
        """Accuracies of the probes: one row per arm, probe, category and pretraining seed."""
        return probes_frame(self.plan, self.records, self.store)

    def table(self, average: str | None = None) -> Table:
        """The leaderboard, by the suite's averaging rule or another, published rows beside; arms
        that are not told apart share a rank."""
        scores = self.results()
        table = self._table(scores, average)
        return tied(table, scores, self.store, paired=same_checkpoints(self.plan.differences))

    def _table(self, scores: pd.DataFrame, average: str | None = None) -> Table:
        evaluate = self.plan.experiment.evaluate
        suite = evaluate.suite_value
        board = board_of_suite(suite.name)
        return build(
            scores,
            suite,
            average,
            tasks=evaluate.tasks,
            arms=[arm.name for arm in self.plan.arms],
            published=board.published if board else (),
            protocol=protocol_line(self.protocol),
            trained=trained_parameters(self.plan, self.records),
        )

    def resampled(self) -> dict[str, dict[str, Runs]]:
        """Arm to task to its runs, scored on resampled examples as in reports: what
        `harness.analysis.statistics` compares."""
        scores = self.results()
        arms = [arm.name for arm in self.plan.arms]
        runs = StoredRuns(arms, scores, counts_reader(self.records, self.store))
        return arm_runs(runs, self._table(scores))

    def leaderboard(self) -> pd.DataFrame:
        """The leaderboard as a frame, scores x 100."""
        return self.table().to_frame()

    def write_report(self, out: Path | None = None) -> Path:
        """Writes the comparison report to `out`, or to reports/<name> in the store."""
        out = out or self.folder / "reports" / self.name
        write_report(self._report_data(), out)
        return out

    def print_status(self, console: Console) -> None:
        """Every stage: done, running, failed (why), or waiting."""
        records = self.records
        for key, stage in self.plan.stages.items():
            line = f"{key}  {stage.kind:9}  {stage.label}: {self._state(key, records)}"
            console.print(line, markup=False)
        console.print(f"{len(records)} of {len(self.plan.stages)} stages done")

    @property
    def name(self) -> str:
        return self.plan.experiment.name

    def _state(self, key: str, records: Mapping[str, Record]) -> str:
        if key in records:
            return "done"
        folder = self.store.root / "work" / key
        if (folder / "error.txt").exists():
            return "failed: " + (folder / "error.txt").read_text().strip().splitlines()[-1]
        progress = read_progress(folder)
        return f"begun, {figures_line(progress)}" if progress else "waiting"

    def _record(self) -> None:
        """Leaves what boards need of this experiment in the store."""
        folder = Path(mkdtemp())
        self.results().to_parquet(folder / "results.parquet", index=False)
        (folder / "experiment.yaml").write_text(self._resolved())
        suite = self.plan.experiment.evaluate.suite_value.name
        self.store.record_experiment(self.name, suite, folder)
        rmtree(folder)

    @property
    def protocol(self) -> dict[str, object]:
        """How the arms are fine-tuned, and in what some differ."""
        evaluate = self.plan.experiment.evaluate
        protocol = {"adaptation": evaluate.adaptation.label, **evaluate.protocol.model_dump()}
        protocol["finetune"] = evaluate.finetune.model_dump()
        protocol["sweep"] = self.plan.experiment.sweep.label
        return protocol | evaluate.chain | self._exceptions()

    def _exceptions(self) -> dict[str, object]:
        """What arms are fine-tuned with that differs from the base, arm by arm."""
        base = _said(self.plan.experiment.evaluate)
        own = {
            arm.name: [
                f"{path} {value}"
                for path, value in _said(arm.evaluate).items()
                if base.get(path) != value
            ]
            for arm in self.plan.arms
        }
        return {f"but for {arm}": ", ".join(fields) for arm, fields in own.items() if fields}

    def _resolved(self) -> str:
        """The experiment with its overrides applied and its arms resolved, as YAML."""
        content = {
            "experiment": self.plan.experiment.model_dump(mode="json"),
            "overrides": list(self.declaration.overrides),
            "arms": {
                arm.name: {
                    "pretrain": arm.pretrain.model_dump(mode="json"),
                    "evaluate": arm.evaluate.model_dump(mode="json"),
                }
                for arm in self.plan.arms
            },
        }
        return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))

    def _report_data(self) -> ReportData:
        plan, records = self.plan, self.records
        experiment = plan.experiment
        return ReportData(
            name=experiment.name,
            question=experiment.question,
            source=experiment.source,
            expect=[(side.better, side.worse) for side in experiment.expect],
            arms=[arm.name for arm in plan.arms],
            differences=plan.differences,
            suite=experiment.evaluate.suite_value,
            tasks=experiment.evaluate.tasks,
            results=results_frame(plan, records),
            predictions=predictions_reader(records, self.store),
            counts=counts_reader(records, self.store),
            curves=curves_frame(plan, records, self.store),
            runs=runs_frame(plan, records),
            pretraining=pretraining_frame(plan, records),
            checkpoints=checkpoints_frame(plan, records),
            costs=costs_frame(plan, records),
            probes=probes_frame(plan, records, self.store),
            adaptation_costs=adaptation_costs_frame(plan, records),
            trained=trained_parameters(plan, records),
            label_counts=label_counts(experiment, plan.arms),
            records=records_frame(plan, records, self.store),
            forgetting=forgetting_frame(plan, records),
            retained=retained_frame(plan, records),
            losses=losses_frame(plan, records),
            trials=trials_frame(plan, records, self.store),
            sweep=experiment.sweep if experiment.sweep.trials else None,
            protocol=self.protocol,
            flops_convention=FLOPS_CONVENTION,
            threats=self._threats(records),
            provenance=self._provenance(records),
        )

    def _threats(self, records: Mapping[str, Record]) -> list[str]:
        missing = [stage for key, stage in self.plan.stages.items() if key not in records]
        return [
            *self.plan.experiment.threats,
            *_unfinished(missing),
            *(f"{line}." for line in obstacle_lines(self.plan)),
        ]

    def _provenance(self, records: Mapping[str, Record]) -> dict[str, object]:
        stages = {f"{stage.kind} {stage.label}": key for key, stage in self.plan.stages.items()}
        return {
            "this report was written with": provenance(),
            "its stages were made with": makers(record.made_with for record in records.values()),
            "to run it again": run_again(self.declaration.path, self.declaration.overrides),
            "data": fingerprints(self.plan.stages.values()),
            "experiment": self._resolved(),
            "stages": stages,
        }


def _unfinished(stages: Sequence[Stage]) -> list[str]:
    """A sentence on each stage; of many, how many there are of each kind."""
    if len(stages) <= FEW_STAGES:
        return [f"Not finished: {stage.kind} {stage.label}." for stage in stages]
    counts = Counter(stage.kind for stage in stages)
    named = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return [f"Not finished: {len(stages)} stages ({named}); `harness status` names them."]


def _said(evaluate: Evaluate) -> dict[str, object]:
    """Its fields by dotted path; the adaptation as one."""
    fields = {path.removeprefix("."): value for path, value in flat_fields("", evaluate)}
    rest = {path: value for path, value in fields.items() if not path.startswith("adaptation.")}
    return {"adaptation": evaluate.adaptation.label, **rest}
