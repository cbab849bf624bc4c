"""What the page of a board holds besides its table: differences, costs, facets and citations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from harness.analysis.comparison.differences import AVERAGE, Compared
from harness.analysis.statistics.bootstrap import Difference
from harness.experiment.recipe_defaults import earlier_runs
from harness.finetuning.ensemble import recorded_networks
from harness.leaderboard.boards import StoreBoard
from harness.leaderboard.column_labels import column_label
from harness.leaderboard.latex import tex
from harness.leaderboard.ranks import adjusted_p
from harness.leaderboard.table import Row, Table
from harness.plan.costs import pretraining_cost
from harness.pretraining.recipes.pretrain import Pretrain
from harness.report.difference_tables import p_cell
from harness.report.figures.cost import COSTS, fronts
from harness.report.layout import Plot
from harness.report.sections.cost import differing, front, leveled
from harness.store.recorded import RecordedExperiment

COST_CAPTION = (
    "Average by the planned cost of one pretraining seed, including the runs that it builds on, "
    "with the standard deviation over pretraining seeds; the line connects the rows on the Pareto "
    "front."
)


def view_data(board: StoreBoard, experiments: Sequence[RecordedExperiment]) -> str:
    """What the script of the page reads, as JSON.

    `differences` maps a column to lists of first row, second row, difference, low, high, p and
    adjusted p, with rows as indices into `rows`; the script computes nothing from scores.
    """
    table = board.table
    labels = {AVERAGE: AVERAGE, **{c.name: column_label(c) for c in table.columns}}
    found = differences(table, board.compared, board.imported) if board.compared else {}
    return json.dumps(
        {
            "suite": table.suite.name,
            "average": table.shows_average,
            "tasks": [column.task for column in table.columns],
            "rows": [row.name for row in table.rows],
            "experiments": [board.arms[row.name][0] for row in table.rows],
            "differences": {labels[name]: lines for name, lines in found.items()},
            "without": "" if found else table.ranking,
            "bibtex": bibtex(table, experiments),
        }
    )


def differences(
    table: Table, compared: Compared, imported: Sequence[Row] = ()
) -> dict[str, list[list[Any]]]:
    """Column, or AVERAGE if it is shown, to the differences of all pairs of rows that are known.

    Args:
        imported: rows that are ranked with those of the table, so that p is adjusted for their
            pairs too.
    """
    together = replace(table, rows=(*table.rows, *imported))
    names = [row.name for row in table.rows]
    pairs = {(i, j): compared(names[i], names[j]) for i, j in combinations(range(len(names)), 2)}
    return {
        name: [
            [i, j, *_line(one, adjusted.get((i, j)))]
            for (i, j), of in pairs.items()
            if (one := of[name])
        ]
        for name, adjusted in adjusted_p(together, compared).items()
        if name != AVERAGE or table.shows_average
    }


def _line(found: Difference, adjusted: float | None) -> list[Any]:
    numbers = (round(value, 4) for value in (found.estimate, found.low, found.high))
    return [*numbers, p_cell(found.p_value), p_cell(adjusted)]


def cost_figure(board: StoreBoard) -> Plot | None:
    """Score against cost; null if all rows cost the same or their costs are unknown."""
    points = _cost_points(board)
    costs = differing(points)
    averages = points["average"].tolist()
    on_front = {name: front(leveled(points[name]), averages) for name in costs}
    return Plot(fronts(points, on_front), COST_CAPTION) if costs else None


def _cost_points(board: StoreBoard) -> pd.DataFrame:
    """Columns arm, average, deviation, and those of COSTS."""
    rows = [
        (
            row.name,
            row.average.mean if row.average else np.nan,
            row.average.sd if row.average and row.average.sd is not None else np.nan,
            *_costs(board.arms[row.name][1]),
            np.nan,
        )
        for row in board.table.rows
    ]
    frame = pd.DataFrame(rows, columns=["arm", "average", "deviation", *COSTS])
    return frame.astype(dict.fromkeys(["average", "deviation", *COSTS], float))


def _costs(arm: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Planned FLOPs and parameters, of all networks of an ensemble; null if another version
    recorded the fields."""
    try:
        run = Pretrain.model_validate(arm["pretrain"])
    except ValidationError:
        return None, None
    runs = [run]
    for _, other in earlier_runs(run):
        runs += [] if other in runs else [other]  # one that is start and teacher is trained once
    networks = recorded_networks(arm)
    flops = [pretraining_cost(one).flops for one in runs]
    total = None if None in flops else sum(number for number in flops if number is not None)
    return _times(total, networks), _times(pretraining_cost(run).parameters, networks)


def _times(cost: float | None, networks: int) -> float | None:
    return None if cost is None else cost * networks


def choices(table: Table) -> dict[str, list[str]]:
    """Facet to its values, of the facets in which rows differ."""
    names = next((list(of) for of in table.facets.values()), [])
    found = {name: sorted({of[name] for of in table.facets.values()}) for name in names}
    return {name: values for name, values in found.items() if len(values) > 1}


def bibtex(table: Table, experiments: Sequence[RecordedExperiment]) -> dict[str, str]:
    """`suite`, name of an experiment, or name of a published table, to a BibTeX entry."""
    entries = {"suite": _entry(f"suite-{table.suite.name}", "", table.suite.citation)}
    for one in experiments:
        declared = one.spec["experiment"]
        source = declared.get("source") or ""
        entries[one.name] = _entry(f"experiment-{one.name}", declared["question"], source)
    for block in table.published:
        entries[block.table] = _entry(f"table-{block.table}", "", block.source)
    return entries


def _entry(key: str, title: str, note: str) -> str:
    """Sources are free text, so that an entry has no separate fields for authors and year."""
    key = "".join(letter if letter.isalnum() else "-" for letter in key)
    fields = {"title": title or note, "note": note if title else ""}
    lines = [f"  {name} = {{{tex(value)}}}" for name, value in fields.items() if value]
    return "@misc{" + ",\n".join([key, *lines]) + "\n}\n"
