"""The results of a planned experiment, as frames that are computed on first use."""

import math
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import LEVEL
from harness.experiment.experiment import Experiment
from harness.finetuning.search.sweep import Sweep
from harness.models.checkpoints.files import read_metadata
from harness.plan.first_seeds import first_seeds
from harness.plan.learned_vocabularies import with_learned_vocabularies
from harness.plan.plan import FinetuneRun, Plan
from harness.store.store import StageResult, Store
from harness.tasks.scores import COUNTS, PREDICTIONS, load_counts, load_groups, load_predictions
from harness.tasks.task import Suite

T = TypeVar("T")


class Results:
    """The finished stages of a plan.

    Frames are functions of the results (`harness.analysis.frames`); `get` calls each one once.
    """

    coverage = LEVEL
    """Of the intervals of expected differences."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._planned, self.store = plan, store
        self._made: dict[Callable[[Results], Any], Any] = {}
        self._predictions: dict[str, pd.DataFrame] = {}

    def get(self, make: Callable[["Results"], T]) -> T:
        """What `make` returns for these results."""
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    @cached_property
    def finished(self) -> Mapping[str, StageResult]:
        """Key to record of the stages of the plan that are finished."""
        return self.store.finished(self._planned.stages)

    @cached_property
    def plan(self) -> Plan:
        """The plan, with costs by the learned vocabularies where these are known."""
        metrics = {key: one.metrics for key, one in self.finished.items()}
        return with_learned_vocabularies(self._planned, metrics)

    def require(self, scores: bool = False) -> "Results":
        """These results, if there is something to show.

        Args:
            scores: whether a fine-tuning run must have finished, where any is planned.

        Raises:
            ValueError: no stage has finished, or no fine-tuning run.
        """
        name, done = self.experiment.name, len(self.finished)
        if not done:
            raise ValueError(f"{self.unfinished}: run it first")
        if scores and self.plan.finetune_runs and not self.scored:
            raise ValueError(
                f"{name} has no scores yet: {done} of {len(self.plan.stages)} stages are done, but "
                "no fine-tuning run; 'harness status' shows them"
            )
        return self

    @property
    def unfinished(self) -> str:
        """Why no stage is finished: the experiment was never run, or had other stages."""
        name, store = self.experiment.name, self.store
        if not store.tracked(name):
            return f"{name} was never run in the store {store.root}"
        return (
            f"{name} was run in the store {store.root}, but no stage of it as declared now is "
            "finished ('harness plan' names what changed, 'harness status --all' what failed)"
        )

    def of_first_seeds(self, number: int, coverage: float) -> "Results":
        """The results of the first pretraining seeds of each arm, with intervals of a coverage."""
        part = copy(self)
        part._made, part.coverage = {}, coverage
        part.__dict__["plan"] = first_seeds(self.plan, number)
        return part

    @property
    def scored(self) -> bool:
        """Whether a fine-tuning run has finished."""
        return any(run.key in self.finished for run in self.plan.finetune_runs)

    def files(self, key: str) -> Path:
        """The folder of a finished stage's files.

        Raises:
            ValueError: the files are damaged.
        """
        return self.store.files(self.finished[key])

    def predictions(self, key: str) -> pd.DataFrame:
        """Rows of split, index, label and prediction of a finished fine-tuning stage.

        Raises:
            ValueError: the files are damaged.
        """
        if key not in self._predictions:
            self._predictions[key] = load_predictions(self.files(key) / PREDICTIONS)
        return self._predictions[key]

    def counts(self, key: str) -> Mapping[str, np.ndarray]:
        """The counts of a finished fine-tuning stage, as `stage_counts` returns them.

        Returns:
            `split/metric` to [num_units, k], `split/labels`, and `split/groups` [num_examples].

        Raises:
            ValueError: the files are damaged, or of a version that left no counts.
        """
        return stage_counts(self.store, self.finished[key])

    def metric(self, key: str | None, name: str) -> float:
        """A metric of a stage; NaN if the stage is not finished or did not leave it."""
        stage = self.finished.get(key) if key else None
        return stage.metrics.get(name, math.nan) if stage else math.nan

    @property
    def finetune_runs(self) -> list[FinetuneRun]:
        """Planned fine-tuning runs of fully pretrained networks, finished or not."""
        return [run for run in self.plan.finetune_runs if run.pretrain_fraction == 1]

    @property
    def num_planned(self) -> dict[str, dict[str, int]]:
        """Arm to task to its number of `finetune_runs`; without tasks that the arm does not
        support."""
        numbers: dict[str, dict[str, int]] = {arm: {} for arm in self.arms}
        for run in self.finetune_runs:
            of = numbers.setdefault(run.arm, {})
            of[run.task] = of.get(run.task, 0) + 1
        return numbers

    @property
    def own_lengths(self) -> dict[str, int]:
        """Arm to the most tokens of a text of its sentence-transformers model, by which it scores
        similarity tasks; without other arms, and without models that are not imported yet."""
        lengths = {}
        for run in self.finetune_runs:
            stage = self.plan.stages[run.key]
            model = stage.parents["pretrain"]
            if stage.spec.get("own_length") and run.arm not in lengths and model in self.finished:
                metadata = read_metadata(self.files(model) / "model")
                lengths[run.arm] = metadata.get("embedding", {}).get("max_length")
        return {arm: length for arm, length in lengths.items() if length}

    @property
    def imported(self) -> dict[str, dict[str, Any]]:
        """Arm with a checkpoint to what its import recorded: the digest of its `weights`, and
        `notes` on what it lacks; without arms that are not imported yet."""
        found = {}
        for arm in self.plan.arms:
            keys = (key for (name, _), key in self.plan.pretrain_keys.items() if name == arm.name)
            key = next(keys, "") if arm.pretrain.model.checkpoint else ""
            if key in self.finished:
                found[arm.name] = read_metadata(self.files(key) / "model").get("imported", {})
        return found

    def trained_in(self, run: FinetuneRun) -> str:
        """Key of the stage that trains a run; tasks learned jointly have a separate one."""
        return self.plan.stages[run.key].parents.get("head", run.key)

    def seconds(self, keys: Iterable[str]) -> float:
        """Seconds of the finished ones among some stages, summed; NaN if one left none."""
        return sum(self.metric(key, "seconds") for key in keys if key in self.finished)

    @property
    def experiment(self) -> Experiment:
        """The declared experiment."""
        return self.plan.experiment

    @property
    def arms(self) -> list[str]:
        """Names of the arms."""
        return [arm.name for arm in self.plan.arms]

    @property
    def suite(self) -> Suite:
        """The suite on which all arms are evaluated."""
        return self.experiment.evaluate.suite_value

    @property
    def sweep(self) -> Sweep | None:
        """The hyperparameter search; null if there was none."""
        return self.experiment.sweep if self.experiment.sweep.trials else None


def stage_counts(store: Store, record: StageResult) -> Mapping[str, np.ndarray]:
    """The counts that a fine-tuning stage left (`harness.tasks.scores.counts`): `split/metric` to
    [num_units, k], `split/labels` to a digest of the labels, and, if the examples have groups,
    `split/groups` to the number of the group of each [num_examples].

    Raises:
        ValueError: the files are damaged, or of a version that left no counts.
    """
    folder = store.files(record)
    if not (folder / COUNTS).is_file():
        raise ValueError(f"stage {record.key} is of an earlier version, which left no counts")
    return load_counts(folder / COUNTS) | load_groups(folder / PREDICTIONS)
