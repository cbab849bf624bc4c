"""The searches of a study as Optuna's dashboard shows them: a study per arm and task in one SQLite
file. A view, like `harness.execution.study_runs`; the trials are results of stages."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

from harness.core.sqlite_files import damage
from harness.execution.job import Workspace
from harness.execution.study_runs import State
from harness.finetuning.search.sweep import Sweep
from harness.plan.arm_stages import ArmStage, arm_stages
from harness.plan.plan import Plan, Stage
from harness.plan.search_stages import ALL_TASKS
from harness.store.artifacts import read_file
from harness.store.store import StageResult, Store

FILE = "optuna.db"
"""Name in the folder of the store."""
COUNTS = "select study_name, count(*) from studies join trials using (study_id) group by study_name"


class SearchStudies:
    """The Optuna studies of an experiment, named `<experiment>/<arm>/<task>`, and
    `/seed <number>` where each pretraining seed has its own. One network for all tasks has one
    study."""

    title = f"the searches in {FILE}"

    def __init__(self, plan: Plan, store: Store, workspace: Workspace) -> None:
        self.plan, self.workspace = plan, workspace
        self.path = store.root / FILE
        self.searches: dict[str, Stage] = {
            _name(plan, one): one.stage for one in arm_stages(plan) if one.stage.kind == "tune"
        }
        self.shown: dict[str, int] = {}
        """Name of a study to the number of its trials, as far as this process has added them."""
        self._trials: dict[str, list[dict[str, Any]]] = {}

    def are_complete(self, finished: Mapping[str, StageResult]) -> bool:
        """Whether the studies have all finished trials.

        Args:
            finished: key to result.
        """
        expected = {
            name: number
            for name, stage in self.searches.items()
            if (number := self._num_finished(stage, finished))
        }
        if not expected:
            return True
        self._discard_if_damaged()
        if not self.path.exists():
            return False
        try:
            with closing(sqlite3.connect(self.path)) as database:
                counts = dict(database.execute(COUNTS).fetchall())
        except sqlite3.OperationalError:  # another process writes, or the file is empty
            return False
        return all(counts.get(name) == number for name, number in expected.items())

    def update(self, states: Mapping[str, State]) -> None:
        """Adds the trials that have ended since the last call.

        Args:
            states: key to state.
        """
        for name, stage in self.searches.items():
            if (number := self._num_finished(stage, states)) != self.shown.get(name, 0):
                self._show(name, stage, states)
                self.shown[name] = number

    def finish(self, states: Mapping[str, State]) -> None:
        """Adds all trials that have ended."""
        self.update(states)

    def interrupt(self) -> None:
        """Leaves the studies as they are."""

    def _num_finished(self, stage: Stage, states: Mapping[str, State]) -> int:
        """Number of finished trials of a search; those of a running `tpe` study are unknown."""
        if self._is_sequential:
            return len(self._sequential_trials(stage, states))
        return sum(isinstance(states.get(key), StageResult) for key in stage.parents.values())

    def _sequential_trials(self, stage: Stage, states: Mapping[str, State]) -> list[dict[str, Any]]:
        """The trials of a finished `tpe` study; none of those stored without them."""
        result = states.get(stage.key)
        if not isinstance(result, StageResult):
            return []
        if result.run_id not in self._trials:
            try:
                found = json.loads(read_file(result.artifact_uri, "trials.json"))
            except FileNotFoundError:
                found = []
            self._trials[result.run_id] = found
        return self._trials[result.run_id]

    @property
    def _is_sequential(self) -> bool:
        return self.plan.experiment.sweep.sampler == "tpe"

    def _show(self, name: str, stage: Stage, states: Mapping[str, State]) -> None:
        from harness.finetuning.search.optuna_search import show_trials
        from harness.finetuning.search.trials import Trial

        self._discard_if_damaged()
        found: dict[str, Trial] = {}
        for one in self._sequential_trials(stage, states) if self._is_sequential else ():
            found[f"{stage.spec['study']}-{one['number']}"] = Trial(**one)
        for key in stage.parents.values():
            result, kind = states.get(key), self.plan.stages[key].kind
            if kind == "trial" and isinstance(result, StageResult):
                found[key] = Trial(**json.loads(read_file(result.artifact_uri, "trial.json")))
        show_trials(self.path, name, Sweep.model_validate(stage.spec["sweep"]), found)

    def _discard_if_damaged(self) -> None:
        """Deletes a damaged file; it is filled again."""
        with suppress(OSError):  # another process writes
            if self.path.exists() and damage(self.path):
                self.path.unlink()
                self.shown.clear()


def _name(plan: Plan, search: ArmStage) -> str:
    each = f"/seed {search.tags['pretrain_seed']}" if plan.experiment.sweep.seeds else ""
    task = search.stage.spec.get("task", ALL_TASKS)
    return f"{plan.experiment.name}/{search.arm}/{task}{each}"
