"""How two experiments order the arms that they share, such as with and without a search."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.results import Results
from harness.analysis.statistics.decisions import Decisions, decisions
from harness.core.counting import number_of
from harness.core.csv_text import frame_csv
from harness.leaderboard.cells import number_cell
from harness.leaderboard.text_tables import Format, TextTable, render_text_tables
from harness.report.run_scores import averages_by_arm, seed_averages
from harness.report.two_arms.sides import check_names

NOTE = (
    "Of {pairs} of arms, {alike} ({share:.0f} %) are ordered alike by their averages "
    "(decision accuracy, Magnusson et al. 2025; 95 % interval {low:.0f} to {high:.0f} % as if "
    "pairs were independent; they share arms, so the true one is wider), and {settled_alike} of "
    "the {settled} that differ in {second} by their 95 % interval over pretraining seeds."
)


@dataclass(frozen=True)
class ArmOrder:
    """The arms of two experiments. Averages are x 100."""

    names: tuple[str, str]
    """The experiments; the second is the one to agree with."""
    averages: Mapping[str, tuple[float, float]]
    """Shared arm to its average in each, in the order of the second."""
    found: Decisions

    def to_frame(self) -> pd.DataFrame:
        """A row for each arm: arm, and its average in each experiment."""
        rows = [(arm, *both) for arm, both in self.averages.items()]
        return pd.DataFrame(rows, columns=["arm", *self.names])

    def table(self) -> TextTable:
        """The averages, and how many pairs are ordered alike."""
        found, (low, high) = self.found, self.found.interval
        note = NOTE.format(
            pairs=number_of(found.pairs, "pair"),
            alike=found.alike,
            share=100 * found.accuracy,
            low=100 * low,
            high=100 * high,
            settled=found.settled,
            settled_alike=found.settled_alike,
            second=self.names[1],
        )
        rows = [
            [arm, *(number_cell(mean, "{:.1f}") for mean in both)]
            for arm, both in self.averages.items()
        ]
        title = f"Order of the arms of {self.names[0]} and {self.names[1]}"
        return TextTable(["arm", *self.names], rows, title=title, notes=(note,))

    def render(self, format: Format) -> str:
        """The table as md, html or latex, or unrounded averages as csv.

        Raises:
            ValueError: an unknown format.
        """
        if format == "csv":
            return frame_csv(self.to_frame())
        return render_text_tables([self.table()], format)


def compare_order(first: Results, second: Results) -> ArmOrder:
    """The order of the arms that both experiments have with all their seeds.

    Raises:
        ValueError: the experiments have other tasks, one name, or fewer than two finished arms in
            common.
    """
    check_names(first, second)
    names = first.experiment.name, second.experiment.name
    tasks = [(one.suite.name, sorted(one.experiment.evaluate.chosen)) for one in (first, second)]
    if tasks[0] != tasks[1]:
        raise ValueError(f"{names[0]} and {names[1]} must have the same suite and tasks")
    one, other = (averages_by_arm(results.get(seed_averages)) for results in (first, second))
    found = decisions(one, other)
    if not found:
        raise ValueError(f"{names[0]} and {names[1]} must share two finished arms, but do not")
    means = {arm: (float(one[arm].mean()), float(other[arm].mean())) for arm in other if arm in one}
    order = sorted(means, key=lambda arm: -means[arm][1])
    return ArmOrder(names, {arm: means[arm] for arm in order}, found)
