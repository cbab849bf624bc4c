"""The main object of the Python API: an experiment with its plan, its store and its results."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console

from harness.analysis.comparison.differences import same_checkpoints
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.scores import probes_frame, scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Runs
from harness.exchange.checkpoints import selection
from harness.execution.backends import BACKENDS, DEFAULT_BACKEND
from harness.execution.executor import Execution, execute
from harness.execution.job import Workspace
from harness.execution.outlook import Outlook, outlook
from harness.execution.progress import Display, figures_line
from harness.execution.time_left import learned_durations
from harness.experiment.data_checks import check_data
from harness.experiment.data_frames import with_files
from harness.experiment.declaration import Declaration, from_data, load
from harness.experiment.plugins import add_plugin, needs_this_process
from harness.leaderboard.boards import tied
from harness.leaderboard.build import experiment_table
from harness.leaderboard.table import Table
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.store.recorded import SCORES_FILE, SPEC_FILE
from harness.store.store import Store, existing_store

if TYPE_CHECKING:
    from harness.execution.finetuned_model import FinetunedModel
    from harness.experiment.experiment import Experiment
    from harness.report.layout import Plot
    from harness.report.summary import Summary


class Study:
    """An experiment and its results in a store. Every method reads the current results."""

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
        declaration = load(Path(path), overrides, variants)
        check_data(declaration)
        return cls(declaration, store)

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
        if not isinstance(experiment, Mapping):
            experiment = experiment.model_dump(mode="json", exclude_unset=True)
        if names := [add_plugin(plugin) for plugin in plugins]:
            experiment = {**experiment, "plugins": [*experiment.get("plugins", ()), *names]}
        data = with_files(experiment, Path(store) / "data")
        declaration = from_data(data, overrides, variants)
        check_data(declaration)
        return cls(declaration, store)

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
        """What is known before a run: costs, warnings, and its duration with `jobs` stages at a
        time."""
        return outlook(self.plan, existing_store(self.folder), jobs)

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
    ) -> "Study":
        """Computes missing stages; `last_run` lists those computed and failed.

        Args:
            jobs: number of parallel stages; null: the number of CPU cores, or 1 with a GPU.
            console: console for the progress display; null: none.
            executor: a name in `harness.execution.backends.BACKENDS`; null: processes, or serial
                if a plug-in is an object of this process.

        Returns:
            This study.
        """
        in_process = any(needs_this_process(name) for name in self.experiment.plugins)
        executor = executor or ("serial" if in_process else DEFAULT_BACKEND)
        backend = BACKENDS[executor](Workspace(self.store.root), jobs)
        earlier = learned_durations(self.store.finished().values())
        with Display(self.plan, console or Console(quiet=True), earlier) as display:
            self.last_run = execute(self.plan, self.store, backend, display)
        if self.last_run.computed or self.name not in self.store.experiments():
            self._record()
        return self

    def scores(self) -> pd.DataFrame:
        """All scores: one row per arm, task, split, metric and pair of seeds."""
        return self.results.get(scores_frame)

    def probes(self) -> pd.DataFrame:
        """Accuracies of the probes: one row per arm, probe, category and pretraining seed."""
        return self.results.get(probes_frame)

    def table(self, average: str | None = None) -> Table:
        """The leaderboard with published rows; arms that do not differ significantly share a rank.

        Args:
            average: averaging rule; null: that of the suite.

        Raises:
            ValueError: the averaging rule is unknown, or uses tasks that the suite does not have.
        """
        results = self.results
        return tied(
            experiment_table(results, average),
            results.get(scores_frame),
            self.store,
            results.finished,
            same_checkpoints(self.plan.differences),
        )

    def leaderboard(self, average: str | None = None) -> pd.DataFrame:
        """The leaderboard as a data frame, scores x 100; see `table`."""
        return self.table(average).to_frame()

    def resampled(self) -> dict[str, dict[str, Runs]]:
        """Arm to task to scores of its runs on bootstrap samples of the examples, the input of
        `harness.analysis.statistics`."""
        results = self.results
        scores, layout = results.get(scores_frame), experiment_table(results).layout
        return arm_runs(results.arms, scores, results.counts, layout)

    def figures(self) -> "dict[str, Plot]":
        """Name to figure of the report; notebooks display them."""
        from harness.report.page import report_figures

        return report_figures(self.results)

    def summary(self) -> "Summary":
        """Verdicts on the expected differences, and threats to validity."""
        from harness.report.summary import summary

        return summary(self.results)

    def write_report(self, out: str | Path | None = None) -> Path:
        """Writes the comparison report.

        Args:
            out: folder; null: reports/<name> in the store.

        Returns:
            The folder.
        """
        from harness.report.page import write_report

        folder = Path(out) if out else self.folder / "reports" / self.name
        write_report(self.results, folder)
        return folder

    def model(self, arm: str | None = None, seed: int | None = None) -> tuple[Any, Any]:
        """A pretrained model as transformers loads it, with the pretraining head if transformers
        has one, and its tokenizer.

        Args:
            arm: null: the only arm.
            seed: pretraining seed; null: the first.

        Returns:
            (model, tokenizer).

        Raises:
            ValueError: the arm or seed does not exist, or its pretraining is not finished.
        """
        import transformers

        chosen = selection.of_experiment(self.results, arm, seed)
        with TemporaryDirectory() as folder:
            out = selection.export(chosen, self.store, Path(folder) / "model")
            (network,) = transformers.AutoConfig.from_pretrained(out).architectures
            model = getattr(transformers, network).from_pretrained(out)
            return model, transformers.AutoTokenizer.from_pretrained(out)

    def finetuned(
        self, task: str, arm: str | None = None, pretrain_seed: int = 0, finetune_seed: int = 0
    ) -> "FinetunedModel":
        """The model of one fine-tuning run; needs `evaluate.save_weights: true`.

        Args:
            arm: null: the only one.

        Raises:
            ValueError: there is no such run, it is not finished, or its weights were not saved.
        """
        from harness.execution.finetuned_model import load_finetuned

        if arm is None and len(self.plan.arms) == 1:
            arm = self.plan.arms[0].name
        wanted = (arm, task, pretrain_seed, finetune_seed)
        runs = {
            (one.arm, one.task, one.pretrain_seed, one.finetune_seed): one
            for one in self.results.finetune_runs
        }
        if wanted not in runs:
            known = ", ".join(sorted({f"{arm} on {task}" for arm, task, *_ in runs}))
            raise ValueError(f"no run of arm {arm} on {task} with these seeds; known: {known}")
        stage = self.plan.stages[runs[wanted].key]
        found = self.store.finished([stage.key, *stage.parents.values()])
        if stage.key not in found:
            raise ValueError(f"{stage.label} is not finished: run it first")
        inputs = {role: self.store.files(found[key]) for role, key in stage.parents.items()}
        out, shared = self.store.files(found[stage.key]), Workspace(self.store.root).root
        return load_finetuned(stage.spec, inputs, out, shared)

    def status(self) -> pd.DataFrame:
        """One row per stage: key, kind, label and state (done, failed with the error, started or
        waiting)."""
        finished, workspace = self.results.finished, Workspace(self.store.root)

        def state(key: str) -> str:
            if key in finished:
                return "done"
            if error := workspace.error(key):
                return f"failed: {error}"
            progress = workspace.progress(key)
            return f"started, {figures_line(progress)}" if progress else "waiting"

        rows = [(key, one.kind, one.label, state(key)) for key, one in self.plan.stages.items()]
        return pd.DataFrame(rows, columns=["key", "kind", "label", "state"])

    def _record(self) -> None:
        """Stores scores and specification, which boards read without the experiment file."""
        import yaml

        spec = yaml.safe_dump(self.declaration.resolved(), sort_keys=False, allow_unicode=True)
        with TemporaryDirectory() as name:
            folder = Path(name)
            self.scores().to_parquet(folder / SCORES_FILE, index=False)
            (folder / SPEC_FILE).write_text(spec)
            self.store.record_experiment(self.name, self.results.suite.name, folder)
