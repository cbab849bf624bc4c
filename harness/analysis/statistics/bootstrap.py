"""How sure a difference between two arms is.

The multi-bootstrap of Sellam et al. 2022 ("The MultiBERTs", ICLR, section 3) resamples pretraining
seeds and test examples at once, so that its interval speaks of the pretraining procedure and not of
the one checkpoint or the one test set at hand. Two things are added here: fine-tuning seeds are
resampled within their pretraining seed (the paper averages over them), and several tasks share the
draw of pretraining seeds, so that an average over a suite has an interval too.

Two things pull the interval's width from the truth. Few seeds make it too narrow (`limits.py`).
Noise that belongs to single pairs of a run and an example is counted by both resamplings, which
makes it somewhat too wide (Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics).
So reports take `welch.py` (docs/statistics.md, "Calibration").

Arrays of replicates have 1 + num_replicates rows: row 0 is the sample as it was observed, the
others are resampled. Whatever is linear in the scores, an average over tasks or a difference, is
computed on whole arrays, and `summarise` turns the result into an estimate with its interval.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray
CHUNK = 2_000_000
"""Draws (replicates x units) in memory at a time."""


@dataclass(frozen=True)
class Runs:
    """The fine-tuned models of one arm on one task."""

    pretrain_seeds: Array
    """[num_runs]"""
    finetune_seeds: Array
    """[num_runs]"""
    scores: Mapping[str, Array]
    """Metric cell to [1 + num_replicates, num_runs], as `bootstrap_scores` gives."""


@dataclass(frozen=True)
class Difference:
    """First arm minus second arm, in the metric's own unit."""

    estimate: float
    low: float
    high: float
    p_value: float
    """Two-sided; by the bootstrap never below 2 / num_replicates."""
    num_seeds: int = 0
    """Pretraining seeds of the arm with fewer, where that is known."""

    @property
    def turned(self) -> "Difference":
        """Second arm minus first arm."""
        return replace(self, estimate=-self.estimate, low=-self.high, high=-self.low)


def check_finite(**arrays: Array) -> None:
    """Comparisons with NaN are false, so that a test of scores with one would find something.

    Raises:
        ValueError: an array holds NaN or an infinite number.
    """
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            missing = int((~np.isfinite(array)).sum())
            raise ValueError(
                f"{name} must be finite, but {missing} of {np.size(array)} are not; leave out what "
                "has no score, or say what it counts"
            )


def bootstrap_scores(
    counts: Mapping[str, Array],
    from_counts: Mapping[str, Callable[[Array], Array]],
    num_replicates: int,
    generator: np.random.Generator,
) -> dict[str, Array]:
    """Scores of all runs on resampled units, the same for every run and every metric that has as
    many units: examples, or groups of examples that are scored together.

    Args:
        counts: metric to [num_runs, num_units, k]: what each unit adds to the sums of a run.
        from_counts: metric to a function from such sums, weighted by how often each unit was drawn,
            [..., k], to scores [...].
        num_replicates: resamples of the units.
        generator: the only source of randomness.

    Returns:
        Metric to [1 + num_replicates, num_runs]; row 0 holds the scores on the sample itself.

    Raises:
        ValueError: no units, or counts of another shape.
    """
    for name, array in counts.items():
        if array.ndim != 3 or not array.shape[1]:
            raise ValueError(
                f"counts must be [num_runs, num_units, k] with at least one unit, but those of "
                f"{name} are {list(array.shape)}"
            )
    parts: dict[str, list[Array]] = {name: [] for name in counts}
    for num_units in dict.fromkeys(array.shape[1] for array in counts.values()):
        shared = {
            name: array.swapaxes(0, 1).reshape(num_units, -1)  # a copy, here and not in each chunk
            for name, array in counts.items()
            if array.shape[1] == num_units
        }
        for draws in _unit_draws(num_units, num_replicates, generator):
            for name, array in shared.items():
                sums = (draws @ array).reshape(len(draws), *counts[name].shape[::2])
                parts[name].append(from_counts[name](sums))
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def compare(
    first: Mapping[str, Runs],
    second: Mapping[str, Runs],
    num_replicates: int,
    generator: np.random.Generator,
    *,
    paired: bool,
) -> dict[tuple[str, str], Array]:
    """Replicates of `first` minus `second` for each (task, cell): the two-sample multi-bootstrap.

    In each replicate the pretraining seeds are drawn once for all tasks, and fine-tuning seeds
    within each drawn pretraining seed. Every pretraining seed counts the same. An arm's pretraining
    seeds that are not there on every task are left out: give one task alone to use all it has.

    Args:
        first, second: task to the runs of an arm, with the same tasks and cells, scored on the same
            replicates of examples (by one call of `bootstrap_scores`).
        paired: whether equal pretraining seeds of both arms are one checkpoint, or have something
            else in common: both arms get the same draw then, otherwise each its own. Fine-tuning
            seeds are drawn alike where all of them are equal.

    Returns:
        (task, cell) to [1 + num_replicates].

    Raises:
        ValueError: no tasks, different tasks, no pretraining seed that is there on every task, or
            paired arms with different ones.
    """
    if not first or first.keys() != second.keys():
        raise ValueError(f"both arms need the same tasks, but got {list(first)} and {list(second)}")
    seeds = [common_seeds(arm) for arm in (first, second)]
    if not all(map(len, seeds)):
        raise ValueError("an arm has no pretraining seed that is there on every task")
    if paired and not np.array_equal(seeds[0], seeds[1]):
        numbers = [", ".join(map(str, side)) for side in seeds]
        raise ValueError(f"paired arms need the same seeds, but have {numbers[0]} and {numbers[1]}")
    draws = [_resample_seeds(len(seeds[0]), num_replicates, generator)]
    draws.append(draws[0] if paired else _resample_seeds(len(seeds[1]), num_replicates, generator))
    differences = {}
    for task, runs in first.items():
        other = second[task]
        weights = _run_weights(runs, seeds[0], draws[0], generator)
        other_weights = (
            weights
            if paired and _same_seeds(runs, other)
            else _run_weights(other, seeds[1], draws[1], generator)
        )
        for cell in runs.scores:
            means = np.sum(weights * runs.scores[cell], axis=1)
            other_means = np.sum(other_weights * other.scores[cell], axis=1)
            differences[task, cell] = means - other_means
    return differences


def common_seeds(arm: Mapping[str, Runs]) -> Array:
    """Pretraining seeds that every task of `arm` has, sorted."""
    sets = [set(runs.pretrain_seeds.tolist()) for runs in arm.values()]
    return np.array(sorted(set.intersection(*sets)))


def summarise(replicates: Array, level: float = 0.95) -> Difference:
    """Estimate (row 0), percentile interval and two-sided p of [1 + num_replicates] differences.

    p = 2 min(q, 1 - q), where q is the share of replicates below zero, those at zero counting half;
    it is floored at 2 / num_replicates, since no replicate beyond zero does not mean none could be.

    Raises:
        ValueError: a replicate is not finite.
    """
    check_finite(replicates=replicates)
    drawn = replicates[1:]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    below = np.mean(drawn < 0) + np.mean(drawn == 0) / 2
    p_value = max(2 * min(below, 1 - below), 2 / len(drawn))
    return Difference(float(replicates[0]), float(low), float(high), float(min(1.0, p_value)))


def _unit_draws(
    num_units: int, num_replicates: int, generator: np.random.Generator
) -> Iterator[Array]:
    """Rows of how often each unit was drawn: once in the sample itself, then in resamples, some
    rows at a time."""
    yield np.ones((1, num_units))
    rows = max(1, CHUNK // num_units)
    for start in range(0, num_replicates, rows):
        size = min(rows, num_replicates - start)
        drawn = generator.integers(num_units, size=(size, num_units))
        drawn += np.arange(size)[:, None] * num_units
        draws = np.bincount(drawn.ravel(), minlength=size * num_units)
        yield draws.reshape(size, num_units).astype(np.float64)


def _resample_seeds(num_seeds: int, num_replicates: int, generator: np.random.Generator) -> Array:
    """[1 + num_replicates, num_seeds]: how often each seed was drawn; once each in row 0."""
    drawn = generator.multinomial(num_seeds, [1 / num_seeds] * num_seeds, size=num_replicates)
    return np.concatenate([np.ones((1, num_seeds), dtype=drawn.dtype), drawn])


def _run_weights(runs: Runs, seeds: Array, draws: Array, generator: np.random.Generator) -> Array:
    """[1 + num_replicates, num_runs], each row summing to 1: `draws` of the pretraining `seeds`,
    and for each time that one was drawn a resample of its fine-tuning seeds."""
    weights = np.zeros((len(draws), len(runs.pretrain_seeds)))
    for seed, drawn in zip(seeds, draws.T, strict=True):
        (at,) = np.nonzero(runs.pretrain_seeds == seed)
        counts = generator.multinomial(drawn * len(at), [1 / len(at)] * len(at))
        counts[0] = 1
        weights[:, at] = counts / (len(at) * len(seeds))
    return weights


def _same_seeds(first: Runs, second: Runs) -> bool:
    return np.array_equal(first.pretrain_seeds, second.pretrain_seeds) and np.array_equal(
        first.finetune_seeds, second.finetune_seeds
    )
