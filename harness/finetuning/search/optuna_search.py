"""Hyperparameter search; the only file that imports optuna."""

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
from harness.finetuning.search.space import (
    ADAPTATION,
    Choice,
    Choices,
    Range,
    Space,
    ends,
    field_of,
    own,
    points,
    shared,
)
from harness.finetuning.search.sweep import PRUNER_STARTUP, TPE_STARTUP, Sweep

WORST = -1.0
"""Value of a trial that diverged or has an undefined metric: the minimum of all metrics."""
LEAST_TRIALS = 8
"""Least number of trials for `importances`, so that each tree has some to split."""

Pruned = optuna.TrialPruned
"""Raised by a report to end the trial early."""
Report = Callable[[int, float | None], None]
"""Called with (epoch from 1, hold-out score) after each epoch."""

State = Literal["complete", "diverged", "undefined", "pruned"]
"""How a trial ended."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    number: int
    value: float
    """Hold-out score after the last epoch, higher is better; WORST if undefined."""
    state: State
    """`undefined`: complete, but its metric has no value (the correlation of a constant)."""
    seconds: float
    epochs: int
    """Finished epochs."""
    params: Mapping[str, Choice]


def point(sweep: Sweep, number: int) -> dict[str, Choice]:
    """Hyperparameters of an independent trial (samplers `random` and `grid`): a function of space
    and number, so that all arms and tasks try the same points."""
    name = json.dumps(sweep.model_dump()["space"], sort_keys=True)
    if sweep.sampler == "grid":
        shuffled = points(sweep.space)
        random.Random(_seed(name)).shuffle(shuffled)
        return shuffled[number]
    sampler = optuna.samplers.RandomSampler(seed=_seed(f"{name}/{number}"))
    return _ask(optuna.create_study(sampler=sampler), sweep.space).params


def search(
    sweep: Sweep,
    objective: Callable[[dict[str, Any], int, Report], Trial],
    *,
    name: str,
    storage: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Trial]:
    """Runs the missing trials of study `name` one after another; returns all its trials.

    Trial i is a function of (name, i, trials before it), stored when finished, so that a resumed or
    extended study equals an uninterrupted one.

    Args:
        objective: (hyperparameters, trial number from 0, report) to the trial; with a pruner it
            calls the report after each epoch and returns a pruned trial if that raises `Pruned`.
        storage: SQLite file of the studies.
    """
    storage.parent.mkdir(parents=True, exist_ok=True)
    make_once(storage, _open)  # parallel workers would create the tables twice
    with FileLock(storage.with_name(f"{name}.lock")):
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
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=TPE_STARTUP)
            running = _ask(study, sweep.space)
            trial = objective(running.params, number, partial(_report, running))
            for field in ("state", "seconds", "epochs"):
                running.set_user_attr(field, getattr(trial, field))
            if trial.state == "pruned":
                stored.add_trial(study.tell(running, state=TrialState.PRUNED))
            else:
                stored.add_trial(study.tell(running, trial.value))
        return [_read(frozen) for frozen in study.trials[: sweep.trials]]


def show_trials(storage: Path, name: str, sweep: Sweep, trials: Mapping[str, Trial]) -> None:
    """Makes study `name` hold these trials, for optuna-dashboard; nothing reads it back.

    Trials that it lacks are added; a study with others is made again. Diverged and undefined trials
    are failed ones, without a value.

    Args:
        storage: SQLite file, created if necessary.
        trials: key to trial.
    """
    make_once(storage, _open)
    opened = _open(storage)

    def study() -> optuna.Study:
        return optuna.create_study(
            study_name=name, storage=opened, direction="maximize", load_if_exists=True
        )

    known = {frozen.user_attrs["key"] for frozen in study().get_trials(deepcopy=False)}
    if not known <= trials.keys():
        optuna.delete_study(study_name=name, storage=opened)
        known = set()
    new = [(key, trial) for key, trial in trials.items() if key not in known]
    study().add_trials(
        _shown(key, trial, sweep) for key, trial in sorted(new, key=lambda pair: pair[1].number)
    )


def _shown(key: str, trial: Trial, sweep: Sweep) -> FrozenTrial:
    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED}
    about = {"key": key, "trial": trial.number, "state": trial.state}
    return optuna.create_trial(
        state=states.get(trial.state, TrialState.FAIL),
        value=trial.value if trial.state in states else None,
        params=dict(trial.params),
        distributions=_distributions(
            {**shared(sweep.space), **own(sweep.space, trial.params.get(ADAPTATION))}
        ),
        user_attrs={**about, "seconds": trial.seconds, "epochs": trial.epochs},
    )


def best(trials: list[Trial]) -> Trial:
    """The trial with the highest value, without pruned ones; the first of ties."""
    complete = [trial for trial in trials if trial.state != "pruned"]
    return max(complete, key=lambda trial: (trial.value, -trial.number))


def importances(
    tried: Sequence[Mapping[str, Any]], values: Sequence[float], space: Space
) -> dict[str, float]:
    """Normalised share of the variance of `values` explained by each hyperparameter alone, of those
    that every trial has: functional ANOVA over a random forest (Hutter et al. 2014, ICML).

    Args:
        tried: hyperparameters of each trial.
        values: hold-out score of each trial.

    Raises:
        ValueError: too few trials, or all have the same value.
    """
    varied = {name: found for name, found in shared(space).items() if len(set(ends(found))) > 1}
    if len(values) < LEAST_TRIALS:
        raise ValueError(f"needs at least {LEAST_TRIALS} complete trials, but has {len(values)}")
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
    return {name: found.get(name, 0.0) for name in shared(space)}


def _ask(study: optuna.Study, space: Space) -> optuna.Trial:
    """The next trial; a searched adaptation decides which further hyperparameters it has."""
    trial = study.ask(_distributions(shared(space)))
    for name, distribution in _distributions(own(space, trial.params.get(ADAPTATION))).items():
        _suggest(trial, name, distribution)
    return trial


def _suggest(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> None:
    match distribution:
        case optuna.distributions.CategoricalDistribution():
            trial.suggest_categorical(name, distribution.choices)
        case optuna.distributions.IntDistribution(low=low, high=high, log=log):
            trial.suggest_int(name, low, high, log=log)
        case optuna.distributions.FloatDistribution(low=low, high=high, log=log):
            trial.suggest_float(name, low, high, log=log)


def _open(storage: Path) -> optuna.storages.RDBStorage:
    waiting = {"connect_args": {"timeout": 120}}  # seconds that a writer waits for another
    return optuna.storages.RDBStorage(f"sqlite:///{storage}", engine_kwargs=waiting)


def _report(running: optuna.Trial, epoch: int, score: float | None) -> None:
    running.report(WORST if score is None else score, epoch)
    if running.should_prune():
        raise Pruned


def _read(frozen: FrozenTrial) -> Trial:
    assert frozen.value is not None
    return Trial(frozen.number, frozen.value, **frozen.user_attrs, params=frozen.params)


def _pruner(name: str | None) -> BasePruner:
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=PRUNER_STARTUP)
    if name == "successive_halving":
        # A third continues to three times the epochs (Li et al. 2020, section 3.2, eta = 3).
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    return optuna.pruners.NopPruner()


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _distributions(found: Mapping[str, Range | Choices]) -> dict[str, BaseDistribution]:
    return {name: _distribution(name, dimension) for name, dimension in found.items()}


def _distribution(name: str, dimension: Range | Choices) -> BaseDistribution:
    if not isinstance(dimension, Range):
        return optuna.distributions.CategoricalDistribution(dimension)
    if _is_integer(name):
        return optuna.distributions.IntDistribution(
            int(dimension.low), int(dimension.high), log=dimension.log
        )
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _is_integer(name: str) -> bool:
    """Whether a hyperparameter is an integer."""
    models, field = field_of(name)
    types = [
        model.model_fields[field].annotation for model in models if field in model.model_fields
    ]
    return any(int in (kind, *get_args(kind)) for kind in types)
