"""Sections on the course of pretraining: losses and averages by tokens and FLOPs, and by hours."""

from collections.abc import Sequence

import pandas as pd

from harness.analysis.results import Results
from harness.report.figures.pretraining import learning_curves, loss_curves
from harness.report.layout import Plot, Section
from harness.report.sections.learning_curves import learning_points, learning_table
from harness.report.sections.pretraining import curve_points, loss_table

LOSS_NOTE = (
    "Training loss after each share of the tokens and held-out loss at the end, in nats per "
    "predicted token, mean ± standard deviation over pretraining seeds. Losses of arms with "
    "different objectives or vocabularies are not comparable."
)
LEARNING_NOTE = (
    "Average after each share of the updates, mean ± standard deviation over pretraining seeds. "
    "Curves by hours depend on the machine; they are under Provenance."
)
LOSS_CAPTION = (
    "Training loss by tokens and by FLOPs: pretraining seeds as thin lines, their mean in bold. "
    "FLOPs of a part of a run are proportional to its tokens."
)
LEARNING_CAPTION = (
    "Average over the suite by tokens and by FLOPs: pretraining seeds as dots, their mean as a "
    "line. Connected dots are checkpoints of one run; a separate run ends at its last dot."
)
HOURS_CAPTION = "by hours of pretraining on the machine that ran it, proportional to the tokens."


def loss_section(results: Results) -> Section | None:
    """Loss curves, and the losses after shares of the tokens."""
    table = loss_table(results)
    points = curve_points(results)
    svg = loss_curves(points, _known(points, ("tokens", "flops")), "loss")
    if not table.rows:
        return None
    plots = {"loss": Plot(svg, LOSS_CAPTION)} if svg else {}
    return Section("Loss curves", [LOSS_NOTE], plots, {"": table})


def learning_section(results: Results) -> Section | None:
    """Averages of checkpoints during pretraining."""
    points = learning_points(results).rename(columns={"arm": "run"})
    svg = learning_curves(points, _known(points, ("tokens", "flops")), "learning")
    if svg is None:
        return None
    plots = {"learning": Plot(svg, LEARNING_CAPTION)}
    return Section("Learning curves", [LEARNING_NOTE], plots, {"": learning_table(results)})


def hours(results: Results) -> Sequence[tuple[str, Plot]]:
    """File name and figure of the same curves by hours, which depend on the machine."""
    points = curve_points(results)
    averages = learning_points(results).rename(columns={"arm": "run"})
    drawn = (
        ("loss_hours", "Loss", loss_curves(points, _known(points, ["hours"]), "loss_hours")),
        (
            *("learning_hours", "Average"),
            learning_curves(averages, _known(averages, ["hours"]), "learning_hours"),
        ),
    )
    return [(name, Plot(svg, f"{what} {HOURS_CAPTION}")) for name, what, svg in drawn if svg]


def _known(points: pd.DataFrame, costs: Sequence[str]) -> list[str]:
    """The costs that are known and above zero for some point."""
    return [name for name in costs if len(points) and points[name].astype(float).gt(0).any()]
