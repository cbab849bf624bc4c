"""The sections of a report between the differences and the threats, in their order."""

from collections.abc import Sequence

from harness.analysis.frames.continued_pretraining import continued_losses_frame
from harness.analysis.frames.probes import probes_frame
from harness.analysis.results import Results
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import TextTable
from harness.models.flops import FLOPS_CONVENTION
from harness.report.arm_tables import cost
from harness.report.layout import Plot, Section
from harness.report.run_scores import RunScores
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


def sections(results: Results, table: Table, scores: RunScores) -> list[Section]:
    """All that there is something to show of."""
    found = (
        costing(results, table),
        learning(results),
        losses(results),
        transfer(results),
        spread(results, scores),
        continued(results),
        probes(results),
        search(results),
        *adapting_sections(results),
        pretraining_cost(results),
    )
    return [section for section in found if section]


def spread(results: Results, scores: RunScores) -> Section | None:
    """Every run as a dot; their numbers, folded."""
    from harness.report.figures.plots import seed_spread

    svg = seed_spread(scores, results.arms)
    if svg is None:
        return None
    rows = [
        [column, arm, " ".join(f"{score:.1f}" for score in by_arm[arm])]
        for column, by_arm in scores.items()
        for arm in results.arms
        if len(by_arm[arm])
    ]
    folded = {"The score of every run": TextTable(["column", "arm", "scores x 100"], rows, (0, 1))}
    return Section("Spread over seeds", plots={"seeds": Plot(svg, SPREAD_CAPTION)}, folded=folded)


def continued(results: Results) -> Section | None:
    """Held-out losses around continued runs."""
    grid = losses_table(results.get(continued_losses_frame))
    return Section("Continued pretraining", [LOSS_NOTE], tables={"": grid}) if grid.rows else None


def probes(results: Results) -> Section | None:
    """A table for each probe; of many categories their mean, and all of them folded."""
    tables = probe_tables(results.get(probes_frame), results.arms)
    shown: dict[str, TextTable] = {}
    folded: dict[str, TextTable] = {}
    for table in tables:
        if table.folded:
            shown[f"{table.name}, mean of the categories"] = table.grid
            folded[f"{table.name}, by category"] = table.folded
        else:
            shown[table.name] = table.grid
    reasons = dict.fromkeys(reason for table in tables for reason in table.reasons)
    return Section("Probes", [PROBE_NOTE, *reasons], {}, shown, folded) if tables else None


def search(results: Results) -> Section | None:
    """The search of settings."""
    from harness.report.figures.plots import search_curves as drawn

    note = search_note(results)
    if not note:
        return None
    svg = drawn(search_curves(results), results.arms)
    tables: dict[str, TextTable] = {
        "Expected best on the hold-out x 100, by trials": search_table(results),
        "Chosen settings": settings_table(results),
        "Importance of each hyperparameter, in percent": importance_table(results),
    }
    return Section(
        "Search",
        [note],
        {"search": Plot(svg, SEARCH_CAPTION)} if svg else {},
        {title: grid for title, grid in tables.items() if grid.rows},
    )


def pretraining_cost(results: Results) -> Section:
    """What one pretraining seed takes."""
    notes = [f"FLOPs by this convention: {FLOPS_CONVENTION}."]
    return Section("Cost of pretraining one seed", notes, tables={"": cost(results)})


def figures(sections: Sequence[Section]) -> dict[str, Plot]:
    """Every figure, by the name of its file."""
    return {name: plot for section in sections for name, plot in section.plots.items()}
