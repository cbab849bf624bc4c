"""Arrays in, numbers out; no files, no plots. Whatever draws takes a Generator.

What is not named here is imported by its file, as some load scipy.stats, which takes a second.
"""

from harness.statistics.bootstrap import (
    Array,
    Difference,
    Runs,
    bootstrap_scores,
    common_seeds,
    compare,
    summarise,
)
from harness.statistics.limits import SeedLimits, seed_limits, seed_note
from harness.statistics.searching import expected_best

__all__ = [
    "Array",
    "Difference",
    "Runs",
    "SeedLimits",
    "bootstrap_scores",
    "common_seeds",
    "compare",
    "expected_best",
    "seed_limits",
    "seed_note",
    "summarise",
]
