"""Search of hyperparameters; the only file that imports optuna."""

import hashlib
import itertools
import random
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from harness.adaptation import Finetune
from harness.experiment import Sweep
from harness.files import make_once
from harness.tuning_spaces import Dimension, Range

WORST = -1.0
"""Value of a trial that diverged or whose metric is undefined: a result, not a failure. No metric
that selects is below it."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


def search(
    sweep: Sweep,
    objective: Callable[[dict[str, Any], int], float | None],
    *,
    name: str,
    storage: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[FrozenTrial]:
    """Runs the trials that study `name` still lacks, and returns all that are complete.

    Trial i is a function of (name, i, the trials before it): killed and started again, a study
    ends with the same trials.

    Args:
        objective: (hyperparameters, trial number from 0) to a score, higher is better; null and
            non-finite scores count as `WORST`.
        storage: SQLite file that holds the studies.
    """
    make_once(storage, _open)  # or workers that start together make the tables twice
    database = _open(storage)
    study = optuna.create_study(
        study_name=name, storage=database, direction="maximize", load_if_exists=True
    )
    for stale in study.get_trials(states=(TrialState.RUNNING,)):
        study.tell(stale.number, state=TrialState.FAIL)
    total = num_trials(sweep)
    while (done := len(_complete(study))) < total:
        progress(done, total)
        study.sampler = _sampler(sweep, name, done)
        trial = study.ask(_distributions(sweep.space))
        value = objective(trial.params, done)
        finite = value is not None and value == value and abs(value) != float("inf")
        study.tell(trial, value if finite else WORST)
    return _complete(study)


def _open(storage: Path) -> optuna.storages.RDBStorage:
    patience = {"connect_args": {"timeout": 120}}  # seconds that a writer waits for another
    return optuna.storages.RDBStorage(f"sqlite:///{storage}", engine_kwargs=patience)


def best(trials: list[FrozenTrial]) -> FrozenTrial:
    """The highest value; of equal ones the first."""
    return max(trials, key=lambda trial: (trial.value, -trial.number))


def num_trials(sweep: Sweep) -> int:
    """`trials`, but no more than a grid has points."""
    return min(sweep.trials, len(_points(sweep.space))) if sweep.sampler == "grid" else sweep.trials


def _complete(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(states=(TrialState.COMPLETE,))


def _sampler(sweep: Sweep, name: str, done: int) -> BaseSampler:
    """A fresh sampler per trial, seeded by its number, so that resuming needs no sampler state."""
    rest = optuna.samplers.RandomSampler(seed=_seed(f"{name}/{done}"))
    if sweep.sampler == "grid":
        # GridSampler stops the study by itself, which only `optimize` allows.
        points = _points(sweep.space)
        random.Random(_seed(name)).shuffle(points)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return optuna.samplers.PartialFixedSampler(points[done], rest)
    if sweep.sampler == "random":
        return rest
    startup = max(4, sweep.trials // 3)
    return optuna.samplers.TPESampler(seed=_seed(f"{name}/{done}"), n_startup_trials=startup)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _points(space: Mapping[str, Dimension]) -> list[dict[str, float | int]]:
    """Every combination of the choices; of a range, its two ends."""
    axes = [
        [(name, value) for value in ((d.low, d.high) if isinstance(d, Range) else d)]
        for name, d in space.items()
    ]
    return [dict(point) for point in itertools.product(*axes)]


def _distributions(space: Mapping[str, Dimension]) -> dict[str, BaseDistribution]:
    return {name: _distribution(name, dimension) for name, dimension in space.items()}


def _distribution(name: str, dimension: Dimension) -> BaseDistribution:
    if not isinstance(dimension, Range):
        return optuna.distributions.CategoricalDistribution(dimension)
    if Finetune.model_fields[name].annotation is int:
        return optuna.distributions.IntDistribution(
            int(dimension.low), int(dimension.high), log=dimension.log
        )
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
