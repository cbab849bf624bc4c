"""Hyperparameter search; the only file that imports optuna."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import optuna
from filelock import FileLock
from optuna.distributions import BaseDistribution
from optuna.exceptions import StorageInternalError
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from harness.core.files import make_once
from harness.core.sqlite_files import sqlite_uri
from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.space import (
    ADAPTATION,
    Choice,
    Choices,
    Range,
    Space,
    ends,
    field_of,
    in_order,
    own,
    points,
    shared,
)
from harness.finetuning.search.sweep import PRUNER_STARTUP, TPE_STARTUP, Sweep
from harness.finetuning.search.trials import WORST, Trial, checksum

UNREADABLE = (SQLAlchemyError, StorageInternalError, RuntimeError, ValueError, KeyError, TypeError)
"""Errors of Optuna on a file that is damaged, or of another version."""
TEMPORARY = ("locked", "I/O", "full", "readonly")
"""Words of other errors."""
CHECKSUM = "checksum"
"""Attribute of stored trials."""
LEAST_TRIALS = 8
"""Least number of trials for `importances`, so that each tree has some to split."""

Pruned = optuna.TrialPruned
"""Raised by a report to end the trial early."""
Report = Callable[[int, float | None], None]
"""Called with (epoch from 1, hold-out score) after each epoch."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


def point(sweep: Sweep | PretrainSearch, number: int, repeat: int = 0) -> dict[str, Choice]:
    """Hyperparameters of an independent trial (samplers `random` and `grid`): a function of the
    space and these numbers, so that all arms and tasks try the same points.

    Args:
        repeat: number of the search, from 0, where each pretraining seed has its own.
    """
    name = json.dumps(sweep.model_dump()["space"], sort_keys=True) + (f"/{repeat}" * bool(repeat))
    if sweep.sampler == "grid":
        shuffled = points(in_order(sweep.space))
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
    max_epochs: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Trial]:
    """Runs the missing trials of study `name` one after another; returns all its trials.

    Trial i is a function of (name, i, trials before it), stored when finished, so that a resumed or
    extended study equals an uninterrupted one.

    Args:
        objective: (hyperparameters, trial number from 0, report) to the trial; with a pruner it
            calls the report after each epoch and returns a pruned trial if that raises `Pruned`.
        storage: SQLite file of the studies.
        max_epochs: the most epochs of a trial.
    """
    storage.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(storage.with_name(f"{name}.lock")):
        stored = _stored_study(name, storage)
        study = optuna.create_study(
            study_name=name, direction="maximize", pruner=_pruner(sweep.pruner, max_epochs)
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
                ended = study.tell(running, state=TrialState.PRUNED)
            else:
                ended = study.tell(running, trial.value)
            stored.add_trial(_with_checksum(ended))
        return [_read(frozen) for frozen in study.trials[: sweep.trials]]


def _stored_study(name: str, storage: Path) -> optuna.Study:
    """The study in a file, with the trials before the first that is damaged. A file that cannot be
    read is set aside: its trials are run again."""
    make_once(storage, _open)  # parallel workers would create the tables twice
    try:
        opened = _open(storage)
        study = _study(name, opened)
        trials = study.get_trials()
        if len(intact := list(takewhile(_is_intact, trials))) < len(trials):
            optuna.delete_study(study_name=name, storage=opened)
            study = _study(name, opened)
            study.add_trials(intact)
        return study
    except UNREADABLE as error:
        if any(reason in str(error) for reason in TEMPORARY):
            raise
    with suppress(FileNotFoundError):  # another process was faster
        storage.replace(storage.with_suffix(".damaged"))
    return _stored_study(name, storage)


def _study(name: str, storage: optuna.storages.RDBStorage) -> optuna.Study:
    return optuna.create_study(
        study_name=name, storage=storage, direction="maximize", load_if_exists=True
    )


def _with_checksum(ended: FrozenTrial) -> FrozenTrial:
    ended.set_user_attr(CHECKSUM, checksum(_read(ended), ended.intermediate_values))
    return ended


def _is_intact(frozen: FrozenTrial) -> bool:
    """Whether a stored trial is as it ended; those of earlier versions have no checksum."""
    try:
        found = checksum(_read(frozen), frozen.intermediate_values)
    except TypeError:  # an attribute is missing or has another name
        return False
    return frozen.user_attrs.get(CHECKSUM, found) == found


def show_trials(storage: Path, name: str, sweep: Sweep, trials: Mapping[str, Trial]) -> None:
    """Makes study `name` hold these trials, for optuna-dashboard; nothing reads it back.

    Trials that it lacks are added; a study with others, or with one twice, is made again. Diverged
    and undefined trials are failed ones, without a value.

    Args:
        storage: SQLite file, created if necessary.
        trials: key to trial.
    """
    make_once(storage, _open)
    with FileLock(storage.with_name(f"{storage.name}.lock")):  # another run may show them, too
        opened = _open(storage)
        shown = [one.user_attrs["key"] for one in _study(name, opened).get_trials(deepcopy=False)]
        if len(trials.keys() & shown) < len(shown):
            optuna.delete_study(study_name=name, storage=opened)
            shown = []
        new = sorted((trial.number, key) for key, trial in trials.items() if key not in shown)
        _study(name, opened).add_trials(_shown(key, trials[key], sweep) for _, key in new)


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
    space = in_order(space)
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
    return optuna.storages.RDBStorage(sqlite_uri(storage), engine_kwargs=waiting)


def _report(running: optuna.Trial, epoch: int, score: float | None) -> None:
    running.report(WORST if score is None else score, epoch)
    if running.should_prune():
        raise Pruned


def _read(frozen: FrozenTrial) -> Trial:
    about = {name: value for name, value in frozen.user_attrs.items() if name != CHECKSUM}
    return Trial(frozen.number, float(frozen.value), **about, params=frozen.params)  # type: ignore[arg-type]  # null if damaged


def _pruner(name: str | None, max_epochs: int) -> BasePruner:
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=PRUNER_STARTUP)
    if name == "successive_halving":
        # A third continues to three times the epochs (Li et al. 2020, section 3.2, eta = 3).
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    if name == "hyperband":
        # Li et al. 2018, JMLR 18(185), with eta = 3. By default the most epochs are those of the
        # trials that are complete when the brackets are made: other ones on resuming.
        return optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=max_epochs, reduction_factor=3
        )
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
