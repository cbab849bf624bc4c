"""The leaderboard of one experiment."""

from harness.analysis.comparison.differences import Compared, comparer, same_checkpoints
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.adaptation import trained_parameters
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.build import build
from harness.leaderboard.measured_rows import is_baseline
from harness.leaderboard.published import board_of_suite
from harness.leaderboard.table import Table, protocol_line
from harness.plan.protocol import protocol_of


def experiment_table(results: Results, average: str | None = None) -> Table:
    """Measured rows ranked by their averages without ties, reference levels, and published rows.

    Args:
        average: an averaging rule; null means the suite's.

    Raises:
        ValueError: an unknown averaging rule, or one over tasks that the suite does not have.
    """
    suite = results.suite
    board = board_of_suite(suite.name)
    return build(
        results.get(scores_frame),
        suite,
        average,
        tasks=results.experiment.evaluate.tasks,
        arms=results.arms,
        published=board.published if board else (),
        protocol=protocol_line(protocol_of(results.plan)),
        trained=results.get(trained_parameters),
        baselines={arm.name for arm in results.plan.arms if is_baseline(arm.pretrain.model.family)},
    )


def experiment_comparer(results: Results, table: Table) -> Compared:
    """A function that compares two arms on the columns of `table`.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    runs = arm_runs(results.arms, results.get(scores_frame), results.counts, table.layout)
    return comparer(runs, table.layout, same_checkpoints(results.plan.differences))
