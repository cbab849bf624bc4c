"""An arm by its results alone: of a study, of an experiment recorded in the store, or imported."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import pandas as pd

from harness.analysis.frames.imported_examples import Examples, run_examples, run_names
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results, stage_counts
from harness.core.config import unknown_name
from harness.plan.protocol import protocol_text, recorded_protocols
from harness.store.recorded import (
    SCORE_COLUMNS,
    RecordedExperiment,
    imported_examples,
    imported_scores,
    recorded_experiments,
)
from harness.store.store import Store
from harness.tasks.scores import PREDICTIONS, load_predictions
from harness.tasks.task import Suite


@dataclass(frozen=True)
class MeasuredArm:
    """The finished runs of an arm, wherever they were measured."""

    experiment: str
    arm: str
    scores: pd.DataFrame
    """SCORE_COLUMNS."""
    protocol: str
    """As JSON; see `harness.plan.protocol.protocol_text`."""
    examples: Callable[[str], Examples | None]
    """Key of a run to its examples; null if they are unknown."""
    suite: Suite | None = None
    """Null: the shipped one that the scores name."""
    source: str = ""
    """Who measured imported scores."""

    @property
    def label(self) -> str:
        """`experiment: arm`."""
        return f"{self.experiment}: {self.arm}"

    @cached_property
    def suite_name(self) -> str:
        """The suite of the scores."""
        return str(self.scores["suite"].iloc[0])

    @property
    def tasks(self) -> list[str]:
        """The tasks with scores."""
        return sorted(self.scores["task"].unique())


def of_results(results: Results, name: str) -> MeasuredArm:
    """An arm of a declared experiment.

    Raises:
        ValueError: an unknown arm, or it has no scores.
    """
    arms = {arm.name: arm for arm in results.plan.arms}
    if name not in arms:
        raise ValueError(unknown_name(f"{results.experiment.name}: the arm", name, arms))
    scores = results.require(scores=True).get(scores_frame)
    evaluate = arms[name].evaluate.model_dump(mode="json")
    sweep, world = results.experiment.sweep.model_dump(mode="json"), results.experiment.seeds.world
    return MeasuredArm(
        results.experiment.name,
        name,
        _some(scores[scores["arm"] == name], f"{results.experiment.name}: {name}"),
        protocol_text(evaluate, sweep, results.own_lengths.get(name), world),
        lambda key: (results.predictions(key), results.counts(key)),
        suite=results.suite,
    )


def is_measured(store: Store, name: str) -> bool:
    """Whether a name is that of a recorded or imported experiment, or begins with it and `:`."""
    return any(_names(name, one) for one in _known(store))


def measured_arm(store: Store, name: str) -> MeasuredArm:
    """The arm that `EXPERIMENT:ARM` names, of an experiment recorded in the store, or imported if
    none is recorded; the experiment alone names its only arm.

    Raises:
        ValueError: there is no such arm, or there are several.
    """
    experiments = [one for one in recorded_experiments(store) if _names(name, one.name)]
    found = [arm for one in experiments for arm in _recorded(store, one, name)]
    found = found or [*_imported(store, name)]
    if len(found) == 1:
        return found[0]
    if not found:
        near = [f"{one}:{arm}" for one, arm in _known_arms(store) if _names(name, one)]
        known = near or _known(store)
        raise ValueError(unknown_name("the recorded or imported arm", name, known))
    if len({one.label for one in found}) == 1:
        sources = ", ".join(f"{one.source} on {one.suite_name}" for one in found)
        raise ValueError(f"{name} must be of one source, suite and protocol, but is of {sources}")
    arms = ", ".join(one.arm for one in found)
    raise ValueError(f"{name} must name one arm, as {name}:ARM, but has {arms}")


def _names(name: str, experiment: str) -> bool:
    return name == experiment or name.startswith(f"{experiment}:")


def _known(store: Store) -> list[str]:
    """The names of all recorded and imported experiments."""
    imported = imported_scores(store)
    names = [] if imported is None else imported["experiment"].unique().tolist()
    return list(dict.fromkeys([*store.experiments(), *names]))


def _known_arms(store: Store) -> Iterator[tuple[str, str]]:
    """Experiment and arm of all recorded and imported scores."""
    imported = imported_scores(store)
    frames = [one.scores.assign(experiment=one.name) for one in recorded_experiments(store)]
    for frame in frames if imported is None else [*frames, imported]:
        yield from frame[["experiment", "arm"]].drop_duplicates().itertuples(index=False, name=None)


def _recorded(store: Store, one: RecordedExperiment, name: str) -> Iterator[MeasuredArm]:
    records = store.finished(one.scores["key"].unique())

    def examples(key: str) -> Examples | None:
        if key not in records:
            return None
        predictions = load_predictions(store.files(records[key]) / PREDICTIONS)
        return predictions, stage_counts(store, records[key])

    protocols = recorded_protocols(one.spec)
    for arm, scores in one.scores.groupby("arm", sort=False):
        if name in (one.name, f"{one.name}:{arm}"):
            yield MeasuredArm(one.name, str(arm), scores, protocols[str(arm)], examples)


def _imported(store: Store, name: str) -> Iterator[MeasuredArm]:
    scores = imported_scores(store)
    if scores is None:
        return
    identity = ["source", "experiment", "arm", "suite", "protocol"]
    for (source, experiment, arm, _, protocol), rows in scores.groupby(identity, sort=False):
        if name in (experiment, f"{experiment}:{arm}"):
            found = imported_examples(store, str(source), str(experiment), str(arm))
            yield MeasuredArm(
                str(experiment),
                str(arm),
                rows.assign(key=run_names(rows))[SCORE_COLUMNS],
                str(protocol),
                partial(_of_import, dict(iter(found.groupby(run_names(found))))),
                source=str(source),
            )


def _of_import(runs: Mapping[str, pd.DataFrame], key: str) -> Examples | None:
    return run_examples(runs[key]) if key in runs else None


def _some(scores: pd.DataFrame, label: str) -> pd.DataFrame:
    if scores.empty:
        raise ValueError(f"{label} has no scores yet: run it first")
    return scores
