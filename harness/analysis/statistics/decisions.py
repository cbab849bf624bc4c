"""Decision accuracy: how often a small study orders two arms as a large one does.

Magnusson et al. 2025, "DataDecide: How to predict best pretraining data with small experiments"
(ICML), section 2: the share of pairs whose better arm is the same at the small and at the target
scale.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import binomtest

from harness.analysis.statistics.welch import contrast_over_seeds
from harness.core.rounding import total

Array = np.ndarray
Scores = Mapping[str, Array]
"""Arm to its scores [num_seeds], the seeds in one order for all arms."""
LEVEL = 0.95


@dataclass(frozen=True)
class Decisions:
    """Pairs of arms at a small scale and at a large one."""

    pairs: int
    alike: int
    """Pairs whose difference of the means has the same sign at both scales."""
    settled: int
    """Pairs whose interval at the large scale excludes zero."""
    settled_alike: int
    one_seed: float
    """Share of pairs that a single seed of the small scale orders as the other seeds of the large
    one do; the mean over seeds. NaN with one seed."""

    @property
    def accuracy(self) -> float:
        """The share of all pairs that are ordered alike."""
        return self.alike / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the accuracy (Clopper and Pearson 1934, Biometrika 26), as if pairs were
        independent. Pairs share arms, so the true one is wider."""
        found = binomtest(self.alike, self.pairs).proportion_ci(LEVEL, method="exact")
        return float(found.low), float(found.high)


def decisions(small: Scores, large: Scores) -> Decisions | None:
    """The decisions on all pairs of the arms that both scales have; null without a pair.

    A pair that is equal at one scale alone is not ordered alike.
    """
    arms = [arm for arm in large if arm in small]
    pairs = list(combinations(arms, 2))
    if not pairs:
        return None
    alike = [_sign(small, *pair) == _sign(large, *pair) for pair in pairs]
    settled = [_is_settled(large[first], large[second]) for first, second in pairs]
    single = [one for pair in pairs for one in _single_seeds(small, large, *pair)]
    return Decisions(
        pairs=len(pairs),
        alike=sum(alike),
        settled=sum(settled),
        settled_alike=sum(
            both for both, is_settled in zip(alike, settled, strict=True) if is_settled
        ),
        one_seed=float(np.mean(single)) if single else float("nan"),
    )


def _sign(scores: Scores, first: str, second: str) -> float:
    return _order(scores[first].mean(), scores[second].mean())


def _order(first: float, second: float) -> float:
    return float(np.sign(total((first, -second))))


def _is_settled(first: Array, second: Array) -> bool:
    if min(len(first), len(second)) < 2:
        return False
    found = contrast_over_seeds([first, -second], LEVEL)
    return found.low > 0 or found.high < 0


def _single_seeds(small: Scores, large: Scores, first: str, second: str) -> Iterator[bool]:
    """Whether each seed alone orders the pair as the others do; runs of one seed are related."""
    sides = (small[first], small[second], large[first], large[second])
    num_seeds = min(map(len, sides))
    for seed in range(num_seeds if num_seeds > 1 else 0):
        own = _order(small[first][seed], small[second][seed])
        rest = [np.delete(large[name], seed).mean() for name in (first, second)]
        yield own == _order(*rest)
