"""Stages that search pretraining settings by held-out loss."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.execution.stages.context import Metrics, StageContext, write_json
from harness.execution.stages.pretrain import declared_run, train_network
from harness.finetuning.search import optuna_search
from harness.finetuning.search.pretrain_search import (
    BEST,
    TRIALS,
    PretrainSearch,
    PretrainTrial,
    best,
    with_settings,
)
from harness.plan.search_stages import trial_role
from harness.pretraining.distributed import rank
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import (
    CorrectedToken,
    NeighbourSentences,
    ReplacedToken,
)
from harness.pretraining.recipes.pretrain import Pretrain

TRIAL = "trial.json"


def pretrain_trial(context: StageContext) -> Metrics:
    """Trains a network with searched settings; writes trial.json, without the network."""
    number = context.spec["trial"]
    # Its point does not depend on the number of trials, which is not part of its key.
    search = PretrainSearch.model_validate({**context.spec["search"], "trials": number + 2})
    point = optuna_search.point(search, number)
    begin = time.perf_counter()
    run = with_settings(declared_run(context), point)
    with TemporaryDirectory(dir=context.state) as folder:
        try:
            figures = train_network(replace(context, out=Path(folder)), run)
        except FloatingPointError:
            figures = {}
    loss = selection_loss(figures, run)
    if rank() == 0:
        found = PretrainTrial(number, loss, time.perf_counter() - begin, point)
        write_json(context.out / TRIAL, asdict(found))
    return {**figures, "validation_loss": loss}


def selection_loss(figures: Mapping[str, float | None], run: Pretrain) -> float | None:
    """The held-out loss that trials are selected by; null if it is unknown or not finite.

    With several losses of tokens it is the weighted sum that is trained: of a generator and what it
    teaches (Clark et al. 2020, section 2; Meng et al. 2021, section 3.2), of both directions
    (Peters et al. 2018, section 3.1), or of both neighbours (Kiros et al. 2015, section 2.1).
    Losses of contrast and of sentence pairs never count.
    """
    loss = 0.0
    for name, weight in _weights(run.objectives[-1]).items():
        part = figures.get(f"validation_{name}")
        loss += math.nan if part is None else weight * part
    return loss if math.isfinite(loss) else None


def _weights(objective: Objective) -> Mapping[str, float]:
    """Name of each held-out loss to its weight in the sum."""
    output = objective.output
    if isinstance(output, ReplacedToken):
        return {"generator_loss": 1.0, "replaced_loss": output.discriminator_weight}
    if isinstance(output, CorrectedToken):
        return {"generator_loss": 1.0, "replaced_loss": output.copy_weight, "corrected_loss": 1.0}
    if isinstance(output, NeighbourSentences):
        return {"loss": 1.0, "previous_loss": 1.0}
    if objective.representation == "bilm":
        return {"loss": 1.0, "backward_loss": 1.0}
    return {"loss": 1.0}


def tune_pretraining(context: StageContext) -> Metrics:
    """Selects the trial with the lowest held-out loss; writes best.json and trials.json."""
    search = PretrainSearch.model_validate(context.spec["search"])
    files = (context.inputs[trial_role(number)] / TRIAL for number in range(search.size))
    trials = [PretrainTrial(**json.loads(file.read_text())) for file in files]
    chosen = best(trials)
    write_json(context.out / BEST, dict(chosen.params))
    write_json(context.out / TRIALS, [asdict(one) for one in trials])
    diverged = sum(one.loss is None for one in trials)
    return {"best": chosen.loss, "trials": len(trials), "diverged_trials": diverged}
