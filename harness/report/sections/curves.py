"""What is seen along the pretraining: losses and averages, by tokens, FLOPs and hours."""

from collections.abc import Sequence

from harness.analysis.results import Results
from harness.report.layout import Plot, Section
from harness.report.sections.learning_curves import learning_points, learning_table
from harness.report.sections.pretraining import curve_points, known_costs, loss_table

LOSS_NOTE = (
    "Training loss after shares of the tokens and held-out loss at the end, in nats a predicted "
    "token, mean ± standard deviation over pretraining seeds. Losses of arms with different "
    "objectives or vocabularies are not to be compared."
)
LEARNING_NOTE = (
    "Average after shares of the updates, mean ± standard deviation over pretraining seeds. The "
    "same by hours is under Provenance, for another machine takes others."
)
LOSS_CAPTION = (
    "Training loss by tokens read and by FLOPs: each pretraining seed thin, their mean bold. FLOPs "
    "of a part of a run are in proportion to its tokens."
)
LEARNING_CAPTION = (
    "Average over the suite by tokens read and by FLOPs: each pretraining seed a dot, their mean "
    "the line. Joined dots are weights along one run; a run of its own ends at its last dot."
)
HOURS_CAPTION = "by hours of pretraining on the machine that ran it, in proportion to the tokens."


def losses(results: Results) -> Section | None:
    """Loss curves, and their numbers."""
    from harness.report.figures.pretraining import loss_curves

    grid = loss_table(results)
    points = curve_points(results)
    svg = loss_curves(points, known_costs(points, ("tokens", "flops")), "loss")
    if not grid.rows:
        return None
    plots = {"loss": Plot(svg, LOSS_CAPTION)} if svg else {}
    return Section("Loss curves", [LOSS_NOTE], plots, {"": grid})


def learning(results: Results) -> Section | None:
    """Averages of weights along the way."""
    from harness.report.figures.pretraining import learning_curves

    points = learning_points(results).rename(columns={"arm": "run"})
    svg = learning_curves(points, known_costs(points, ("tokens", "flops")), "learning")
    if svg is None:
        return None
    plots = {"learning": Plot(svg, LEARNING_CAPTION)}
    return Section("Learning curves", [LEARNING_NOTE], plots, {"": learning_table(results)})


def hours(results: Results) -> Sequence[tuple[str, Plot]]:
    """Names of files and figures of the same by hours, which differ between machines."""
    from harness.report.figures.pretraining import learning_curves, loss_curves

    points = curve_points(results)
    averages = learning_points(results).rename(columns={"arm": "run"})
    found = (
        ("loss_hours", "Loss", loss_curves, points),
        ("learning_hours", "Average", learning_curves, averages),
    )
    drawn = (
        (name, what, draw(frame, known_costs(frame, ["hours"]), name))
        for name, what, draw, frame in found
    )
    return [(name, Plot(svg, f"{what} {HOURS_CAPTION}")) for name, what, svg in drawn if svg]
