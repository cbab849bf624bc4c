"""The sections of a report between the differences and the threats, in their order."""

from collections.abc import Sequence

from harness.leaderboard.table import Table
from harness.report.arm_tables import cost
from harness.report.data import ReportData, Scores
from harness.report.layout import Grid, Plot, Section
from harness.report.sections.adaptation import adapting_sections
from harness.report.sections.continued_pretraining import LOSS_NOTE, losses_table
from harness.report.sections.cost import costing
from harness.report.sections.curves import learning, losses
from harness.report.sections.probes import PROBE_NOTE, probe_tables
from harness.report.sections.search import (
    importance_table,
    search_curves,
    search_note,
    search_table,
    settings_table,
)
from harness.report.sections.transfer import transfer

SPREAD_CAPTION = "The score of every run: one dot for each pretraining and fine-tuning seed."
SEARCH_CAPTION = (
    "Expected best score on the hold-out by the number of random trials, mean over tasks, with its "
    "standard deviation."
)


def sections(data: ReportData, table: Table, scores: Scores) -> list[Section]:
    """All that there is something to show of."""
    found = (
        costing(data, table),
        learning(data),
        losses(data),
        transfer(data),
        spread(data, scores),
        continued(data),
        probes(data),
        search(data),
        *adapting_sections(data),
        pretraining_cost(data),
    )
    return [section for section in found if section]


def spread(data: ReportData, scores: Scores) -> Section | None:
    """Every run as a dot; their numbers, folded."""
    from harness.report.figures.plots import seed_spread

    svg = seed_spread(scores, data.arms)
    if svg is None:
        return None
    rows = [
        [column, arm, " ".join(f"{score:.1f}" for score in by_arm[arm])]
        for column, by_arm in scores.items()
        for arm in data.arms
        if len(by_arm[arm])
    ]
    folded = {"The score of every run": Grid(["column", "arm", "scores x 100"], rows, (0, 1))}
    return Section("Spread over seeds", plots={"seeds": Plot(svg, SPREAD_CAPTION)}, folded=folded)


def continued(data: ReportData) -> Section | None:
    """Held-out losses around continued runs."""
    grid = losses_table(data.losses)
    return Section("Continued pretraining", [LOSS_NOTE], grids={"": grid}) if grid.rows else None


def probes(data: ReportData) -> Section | None:
    """A table for each probe; of many categories their mean, and all of them folded."""
    tables = probe_tables(data.probes, data.arms)
    shown: dict[str, Grid] = {}
    folded: dict[str, Grid] = {}
    for table in tables:
        if table.folded:
            shown[f"{table.name}, mean of the categories"] = table.grid
            folded[f"{table.name}, by category"] = table.folded
        else:
            shown[table.name] = table.grid
    reasons = dict.fromkeys(reason for table in tables for reason in table.obstacles)
    return Section("Probes", [PROBE_NOTE, *reasons], {}, shown, folded) if tables else None


def search(data: ReportData) -> Section | None:
    """The search of settings."""
    from harness.report.figures.plots import search_curves as drawn

    note = search_note(data)
    if not note:
        return None
    svg = drawn(search_curves(data), data.arms)
    grids: dict[str, Grid] = {
        "Expected best on the hold-out x 100, by trials": search_table(data),
        "Chosen settings": settings_table(data),
        "Importance of each hyperparameter, in percent": importance_table(data),
    }
    return Section(
        "Search",
        [note],
        {"search": Plot(svg, SEARCH_CAPTION)} if svg else {},
        {title: grid for title, grid in grids.items() if grid.rows},
    )


def pretraining_cost(data: ReportData) -> Section:
    """What one pretraining seed takes."""
    notes = [f"FLOPs by this convention: {data.flops_convention}."] if data.flops_convention else []
    return Section("Cost of pretraining one seed", notes, grids={"": cost(data)})


def drawn(sections: Sequence[Section]) -> dict[str, Plot]:
    """Every figure, by the name of its file."""
    return {name: plot for section in sections for name, plot in section.plots.items()}
