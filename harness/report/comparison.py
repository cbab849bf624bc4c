"""The comparison of arms that page, threats and terminal share."""

from harness.analysis.comparison.differences import Comparer
from harness.analysis.results import Results
from harness.leaderboard.build import experiment_comparer, experiment_table
from harness.leaderboard.ranks import with_ties
from harness.leaderboard.table import Table
from harness.report.pairwise import pairwise
from harness.report.verdict import Pair


def compared_arms(results: Results) -> Comparer:
    """A function that compares two arms by name.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    return experiment_comparer(results, results.get(experiment_table))


def compared_table(results: Results) -> tuple[Table, tuple[Pair, ...]]:
    """The leaderboard with its ties, and the compared pairs of arms.

    Raises:
        ValueError: as `compared_arms` does.
    """
    compared = results.get(compared_arms)
    table = with_ties(results.get(experiment_table), compared)
    return table, pairwise(results, table, compared)
