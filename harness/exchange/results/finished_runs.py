"""The finished runs of an experiment, for export."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.protocol import protocol_text
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.recorded import RecordedExperiment
from harness.store.store import Store

UNKNOWN = Cost(None, None, None, None)


@dataclass(frozen=True)
class FinishedRuns:
    """The finished runs of an experiment."""

    scores: pd.DataFrame
    """`harness.store.recorded.SCORE_COLUMNS`."""
    protocols: Mapping[str, str]
    """Arm to its protocol as JSON."""
    costs: Mapping[str, Cost]
    """Arm to the cost of one pretraining run."""
    store: Store


def runs_of_results(results: Results) -> FinishedRuns:
    """The finished runs of a declared experiment."""
    sweep = results.experiment.sweep.model_dump(mode="json")
    protocols = {
        arm.name: protocol_text(arm.evaluate.model_dump(mode="json"), sweep)
        for arm in results.plan.arms
    }
    return FinishedRuns(results.get(scores_frame), protocols, results.plan.costs, results.store)


def runs_of_recorded(experiment: RecordedExperiment, store: Store) -> FinishedRuns:
    """The runs that were finished when an experiment was last run; needs no experiment file."""
    arms, sweep = experiment.spec["arms"], experiment.spec["experiment"]["sweep"]
    return FinishedRuns(
        experiment.scores,
        {name: protocol_text(arm["evaluate"], sweep) for name, arm in arms.items()},
        {name: _cost(arm["pretrain"]) for name, arm in arms.items()},
        store,
    )


def _cost(pretrain: Mapping[str, object]) -> Cost:
    """The cost of a recorded run; unknown if its settings are no longer valid."""
    try:
        return pretraining_cost(Pretrain.model_validate(pretrain))
    except ValueError:
        return UNKNOWN
