"""Search of hyperparameters; the only file that imports optuna."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import optuna
from filelock import FileLock
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial, TrialState

from harness.core.files import make_once
from harness.finetuning.adaptation import Adaptation
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.spaces import ADAPTATION_PREFIX, Choice, Dimension, Range, points
from harness.finetuning.search.sweep import Sweep, ends

WORST = -1.0
"""Value of a trial that diverged or whose metric is undefined: a result, not a failure. No metric
that selects is below it."""
STARTUP = 10
"""Trials of `tpe` that are drawn at random before it learns: optuna's default."""
LEAST_TRIALS = 8
"""Fewer say nothing of importance: some for each tree of the forest to split."""

Pruned = optuna.TrialPruned
"""Raised by a report after which a trial is not worth going on with."""
Report = Callable[[int, float | None], None]
"""Told (epoch from 1, hold-out score) after each epoch."""

State = Literal["complete", "diverged", "undefined", "pruned"]

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class Trial:
    """One point of a space that was tried."""

    number: int
    value: float
    """Hold-out score, higher is better; of a pruned trial that of its last epoch, and `WORST` where
    there is none."""
    state: State
    """`undefined`: it ended, but its metric has no value, as the correlation of constants."""
    seconds: float
    epochs: int
    """Epochs that it reached."""
    params: Mapping[str, Choice]


def point(sweep: Sweep, number: int) -> dict[str, Choice]:
    """Hyperparameters of a trial that heeds no other (samplers `random` and `grid`).

    A function of the space and the number alone: every arm and task tries the same points.
    """
    name = json.dumps(sweep.model_dump()["space"], sort_keys=True)
    if sweep.sampler == "grid":
        shuffled = points(sweep.space)
        random.Random(_seed(name)).shuffle(shuffled)
        return shuffled[number]
    sampler = optuna.samplers.RandomSampler(seed=_seed(f"{name}/{number}"))
    return optuna.create_study(sampler=sampler).ask(_distributions(sweep.space)).params


def search(
    sweep: Sweep,
    objective: Callable[[dict[str, Any], int, Report], Trial],
    *,
    name: str,
    storage: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Trial]:
    """Runs the trials that study `name` still lacks, one after another, and returns them all.

    Trial i is a function of (name, i, the trials before it): killed and started again, or continued
    with more trials, a study has the same ones. A trial is stored when it is finished.

    Args:
        objective: (hyperparameters, trial number from 0, report) to the trial; where there is a
            pruner it calls the report after each epoch, and passes on or marks what that raises.
        storage: SQLite file that holds the studies.
    """
    lock = storage.parent / "work" / f"{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    make_once(storage, _open)  # or workers that start together make the tables twice
    with FileLock(lock):
        stored = optuna.create_study(
            study_name=name, storage=_open(storage), direction="maximize", load_if_exists=True
        )
        study = optuna.create_study(
            study_name=name, direction="maximize", pruner=_pruner(sweep.pruner)
        )
        study.add_trials(stored.get_trials())
        for number in range(len(study.trials), sweep.trials):
            progress(number, sweep.trials)
            # A fresh sampler per trial, so that resuming needs no sampler state.
            seed = _seed(f"{name}/{number}")
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            asked = study.ask(_distributions(sweep.space))
            trial = objective(asked.params, number, partial(_report, asked))
            for field in ("state", "seconds", "epochs"):
                asked.set_user_attr(field, getattr(trial, field))
            if trial.state == "pruned":
                stored.add_trial(study.tell(asked, state=TrialState.PRUNED))
            else:
                stored.add_trial(study.tell(asked, trial.value))
        return [_read(frozen) for frozen in study.trials[: sweep.trials]]


def best(trials: list[Trial]) -> Trial:
    """The highest value of those that were not ended early; of equal ones the first."""
    whole = [trial for trial in trials if trial.state != "pruned"]
    return max(whole, key=lambda trial: (trial.value, -trial.number))


def importances(
    tried: Sequence[Mapping[str, Any]], values: Sequence[float], space: Mapping[str, Dimension]
) -> dict[str, float]:
    """Variance of `values` that each hyperparameter explains by itself, by functional ANOVA over a
    random forest (Hutter et al. 2014, ICML), as shares of their sum.

    Raises:
        ValueError: nothing can be said, and why.
    """
    varied = {name: found for name, found in space.items() if len(set(ends(found))) > 1}
    if len(values) < LEAST_TRIALS:
        raise ValueError(f"needs at least {LEAST_TRIALS} whole trials, but there are {len(values)}")
    if len(set(values)) == 1:
        raise ValueError("all trials scored the same")
    distributions = _distributions(varied)
    study = optuna.create_study(direction="maximize")
    for params, value in zip(tried, values, strict=True):
        chosen = {name: params[name] for name in varied}
        study.add_trial(
            optuna.create_trial(params=chosen, distributions=distributions, value=value)
        )
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: found.get(name, 0.0) for name in space}


def _open(storage: Path) -> optuna.storages.RDBStorage:
    patience = {"connect_args": {"timeout": 120}}  # seconds that a writer waits for another
    return optuna.storages.RDBStorage(f"sqlite:///{storage}", engine_kwargs=patience)


def _report(asked: optuna.Trial, epoch: int, score: float | None) -> None:
    asked.report(WORST if score is None else score, epoch)
    if asked.should_prune():
        raise Pruned


def _read(frozen: FrozenTrial) -> Trial:
    assert frozen.value is not None
    return Trial(frozen.number, frozen.value, **frozen.user_attrs, params=frozen.params)


def _pruner(name: str | None) -> BasePruner:
    if name == "median":
        return optuna.pruners.MedianPruner()
    if name == "successive_halving":
        # A third goes on to thrice the epochs (Li et al. 2020, section 3.2, with eta = 3).
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    return optuna.pruners.NopPruner()


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _distributions(space: Mapping[str, Dimension]) -> dict[str, BaseDistribution]:
    return {name: _distribution(name, dimension) for name, dimension in space.items()}


def _distribution(name: str, dimension: Dimension) -> BaseDistribution:
    if not isinstance(dimension, Range):
        return optuna.distributions.CategoricalDistribution(dimension)
    if _whole(name):
        return optuna.distributions.IntDistribution(
            int(dimension.low), int(dimension.high), log=dimension.log
        )
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _whole(name: str) -> bool:
    """Whether a hyperparameter is a whole number."""
    field = name.removeprefix(ADAPTATION_PREFIX)
    models = Adaptation.__subclasses__() if field != name else [Finetune]
    types = [
        model.model_fields[field].annotation for model in models if field in model.model_fields
    ]
    return any(int in (kind, *get_args(kind)) for kind in types)
