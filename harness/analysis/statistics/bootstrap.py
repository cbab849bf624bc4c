"""The multi-bootstrap of the difference between two arms.

The multi-bootstrap of Sellam et al. 2022 ("The MultiBERTs", ICLR, section 3) resamples pretraining
seeds and test examples together, so that its interval applies to the pretraining procedure instead
of single checkpoints and a single test set. This version differs in two respects: fine-tuning seeds
are resampled within their pretraining seed (the paper averages over them), and tasks share the
resamples of pretraining seeds, so that an average over a suite also has an interval.

The width of the interval is biased in two ways. With few seeds it is too narrow (`seed_limits.py`).
Noise of single pairs of a run and an example is counted in both resamplings, which makes it
somewhat too wide (Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics). Therefore
reports use `welch.py` (docs/statistics.md, "Calibration").

Arrays of replicates have 1 + num_replicates rows: row 0 is the observed sample, the others are
resamples. Linear functions of scores, such as averages over tasks and differences, are computed on
whole arrays; `summarise` returns their estimate with an interval.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.statistics.two_groups import Split

Array = np.ndarray
CHUNK = 2_000_000
"""Maximum number of draws (replicates x units) in memory."""


@dataclass(frozen=True)
class Runs:
    """The fine-tuned models of one arm on one task."""

    pretrain_seeds: Array
    """[num_runs]"""
    finetune_seeds: Array
    """[num_runs]"""
    scores: Mapping[str, Array]
    """Metric and split to [1 + num_replicates, num_runs], from `bootstrap_scores`."""


@dataclass(frozen=True)
class Difference:
    """First arm minus second arm, in the unit of the scores."""

    estimate: float
    low: float
    high: float
    p_value: float
    """Two-sided; with the bootstrap at least 2 / num_replicates."""
    num_seeds: int = 0
    """Smaller number of pretraining seeds of both arms; 0 if unknown."""
    split: Split | None = None
    """Null if no runs are known to fall into two groups."""
    seed_variance: float = 0.0
    """The part of the estimate's variance that is due to seeds."""
    example_variance: float = 0.0
    """The part that is due to the examples, which more seeds do not reduce."""
    sides: int = 0
    """Independent sides whose variance between seeds is estimated: 1 of arms that are compared seed
    by seed, and of an arm and a level; 0 if unknown."""

    @property
    def is_exact(self) -> bool:
        """Whether it is the same in every run, without an interval."""
        return not self.num_seeds and self.low == self.high

    @property
    def turned(self) -> "Difference":
        """Second arm minus first arm."""
        return replace(self, estimate=-self.estimate, low=-self.high, high=-self.low)

    def with_split(self, split: Split | None) -> "Difference":
        """The same with the groups into which runs fall."""
        return replace(self, split=split)

    def within(self, least: float, most: float) -> "Difference":
        """The same with an interval that has no values below `least` and above `most`."""
        low, high = max(self.low, least), min(self.high, most)
        # A metric from elsewhere may leave its scale: an interval always includes its estimate.
        return replace(self, low=min(low, self.estimate), high=max(high, self.estimate))


def check_finite(**arrays: Array) -> None:
    """Refuses arrays with NaN or infinite values: comparisons with NaN are false, so that tests
    would find differences.

    Raises:
        ValueError: an array has NaN or an infinite value.
    """
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            missing = int((~np.isfinite(array)).sum())
            raise ValueError(
                f"{name} must be finite, but {missing} of {np.size(array)} are not; leave out what "
                "has no score, or replace it by a number"
            )


def bootstrap_scores(
    counts: Mapping[str, Array],
    from_counts: Mapping[str, Callable[[Array], Array]],
    num_replicates: int,
    generator: np.random.Generator,
) -> dict[str, Array]:
    """Scores of all runs on resampled units: examples, or groups of examples that are scored
    together. All runs, and metrics with equal numbers of units, share the resamples.

    Args:
        counts: metric to [num_runs, num_units, k], the contribution of each unit to k sums.
        from_counts: metric to a function from sums [..., k], weighted by how often each unit was
            drawn, to scores [...].

    Returns:
        Metric to [1 + num_replicates, num_runs]; row 0 holds the scores on the sample itself.

    Raises:
        ValueError: counts without units or with another number of dimensions.
    """
    for name, array in counts.items():
        if array.ndim != 3 or not array.shape[1]:
            raise ValueError(
                f"counts must be [num_runs, num_units, k] with at least one unit, but those of "
                f"{name} are {list(array.shape)}"
            )
    parts: dict[str, list[Array]] = {name: [] for name in counts}
    for num_units in dict.fromkeys(array.shape[1] for array in counts.values()):
        # The copy is made here once instead of in each chunk.
        shared = {
            name: array.swapaxes(0, 1).reshape(num_units, -1)
            for name, array in counts.items()
            if array.shape[1] == num_units
        }
        for draws in _unit_draws(num_units, num_replicates, generator):
            for name, array in shared.items():
                sums = (draws @ array).reshape(len(draws), *counts[name].shape[::2])
                parts[name].append(from_counts[name](sums))
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def cluster_sums(counts: Array, clusters: Array) -> Array:
    """[num_clusters, k]: counts [num_units, k] summed over each cluster, so that `bootstrap_scores`
    draws whole clusters: the cluster bootstrap, for units that depend on those of their cluster.

    Source: Field & Welsh 2007, "Bootstrapping clustered data" (Journal of the Royal Statistical
    Society B 69), section 3, the randomized cluster bootstrap.

    Args:
        clusters: [num_units] number of the cluster of each unit, from 0.
    """
    sums = np.zeros((int(clusters.max()) + 1, counts.shape[1]))
    np.add.at(sums, clusters, counts)
    return sums


def compare(
    first: Mapping[str, Runs],
    second: Mapping[str, Runs],
    num_replicates: int,
    generator: np.random.Generator,
    *,
    paired: bool,
) -> dict[tuple[str, str], Array]:
    """Replicates of `first` minus `second` for each (task, cell): the two-sample multi-bootstrap.

    In each replicate, pretraining seeds are drawn once for all tasks, and fine-tuning seeds within
    each drawn pretraining seed. All pretraining seeds have equal weight. Pretraining seeds that are
    missing on a task are excluded from all tasks.

    Args:
        first, second: task to the runs of an arm, with the same tasks and cells, scored on the same
            resampled examples (by one call of `bootstrap_scores`).
        num_replicates: as many as there are resamples of the examples.
        paired: whether equal pretraining seeds of both arms are the same checkpoint or otherwise
            dependent, so that both arms share the draws. Fine-tuning seeds share them if all are
            equal.

    Returns:
        (task, cell) to [1 + num_replicates].

    Raises:
        ValueError: no tasks, different tasks, no pretraining seed that all tasks have, paired arms
            with different seeds, or another number of resamples.
    """
    if not first or first.keys() != second.keys():
        raise ValueError(f"both arms need the same tasks, but got {list(first)} and {list(second)}")
    _check_replicates([*first.values(), *second.values()], num_replicates)
    seeds = [common_seeds(arm) for arm in (first, second)]
    if not all(map(len, seeds)):
        raise ValueError("both arms need a pretraining seed that all tasks have")
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


def _check_replicates(every: Iterable[Runs], num_replicates: int) -> None:
    for runs in every:
        for scores in runs.scores.values():
            if len(scores) != 1 + num_replicates:
                raise ValueError(
                    f"num_replicates must be the number of resamples of the examples, "
                    f"{len(scores) - 1}, but is {num_replicates}"
                )


def common_seeds(arm: Mapping[str, Runs]) -> Array:
    """Pretraining seeds [num_seeds] that all tasks of an arm have, sorted."""
    sets = [set(runs.pretrain_seeds.tolist()) for runs in arm.values()]
    return np.array(sorted(set.intersection(*sets)))


def summarise(replicates: Array, level: float = 0.95) -> Difference:
    """Estimate (row 0), percentile interval and two-sided p of [1 + num_replicates] differences.

    p = 2 min(q, 1 - q), where q is the share of replicates below zero, with those at zero counted
    half. It is at least 2 / num_replicates, the resolution of the bootstrap.

    Args:
        replicates: [1 + num_replicates], the observed difference first.

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
    """Chunks [rows, num_units] of how often each unit was drawn; the first is the sample itself."""
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
    """[1 + num_replicates, num_runs], each row with sum 1: the weights of runs for `draws` of the
    pretraining `seeds`, each with a resample of its fine-tuning seeds."""
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
