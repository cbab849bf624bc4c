"""What is written of an experiment: scores, what is told of its arms, where examples lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from harness.exchange.results.schema import protocol_text
from harness.plan.costs import Cost, pretraining_cost
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import Store

if TYPE_CHECKING:
    from harness.leaderboard.boards import Recorded
    from harness.study import Study

UNKNOWN = Cost(None, None, None, None)


@dataclass(frozen=True)
class Measured:
    """The finished runs of an experiment."""

    results: pd.DataFrame
    """As `harness.analysis.frames.scores.results_frame` gives."""
    protocols: Mapping[str, str]
    """Arm to its protocol as JSON."""
    costs: Mapping[str, Cost]
    """Arm to what one pretraining run takes."""
    store: Store


def of_study(study: "Study") -> Measured:
    """All that is finished of a declared experiment."""
    sweep = study.plan.experiment.sweep.model_dump(mode="json")
    protocols = {
        arm.name: protocol_text(arm.evaluate.model_dump(mode="json"), sweep)
        for arm in study.plan.arms
    }
    return Measured(study.results(), protocols, study.plan.costs, study.store)


def of_store(experiment: "Recorded", store: Store) -> Measured:
    """What was finished when the experiment was last run, whether or not its file is at hand."""
    arms, sweep = experiment.spec["arms"], experiment.spec["experiment"]["sweep"]
    return Measured(
        experiment.results,
        {name: protocol_text(arm["evaluate"], sweep) for name, arm in arms.items()},
        {name: _cost(arm["pretrain"]) for name, arm in arms.items()},
        store,
    )


def _cost(pretrain: Mapping[str, object]) -> Cost:
    """Unknown of what an earlier version declared, if it can no longer be declared."""
    try:
        return pretraining_cost(Pretrain.model_validate(pretrain))
    except ValueError:
        return UNKNOWN
