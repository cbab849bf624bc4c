"""Stages that search pretraining settings by held-out loss."""

import json
import math
import time
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

TRIAL = "trial.json"


def pretrain_trial(context: StageContext) -> Metrics:
    """Trains a network with searched settings; writes trial.json, without the network."""
    number = context.spec["trial"]
    # Its point does not depend on the number of trials, which is not part of its key.
    search = PretrainSearch.model_validate({**context.spec["search"], "trials": number + 2})
    point = optuna_search.point(search, number)
    begin = time.perf_counter()
    with TemporaryDirectory(dir=context.state) as folder:
        own = replace(context, out=Path(folder))
        try:
            figures = train_network(own, with_settings(declared_run(context), point))
        except FloatingPointError:
            figures = {}
    loss = figures.get("validation_loss")
    loss = loss if loss is not None and math.isfinite(loss) else None
    if rank() == 0:
        found = PretrainTrial(number, loss, time.perf_counter() - begin, point)
        write_json(context.out / TRIAL, asdict(found))
    return {**figures, "validation_loss": loss}


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
