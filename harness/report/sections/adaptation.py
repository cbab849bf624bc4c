"""Sections that a report has where there is something to show."""

from harness.analysis.results import Results
from harness.report.layout import Plot, Section
from harness.report.sections.adaptation_tables import (
    BY_LAYER,
    TITLES,
    average_forgetting,
    cost_table,
    count_points,
    count_table,
    forgetting_scores,
    forgetting_table,
    layer_means,
    layer_tables,
    plain_layers,
    retained_table,
)
from harness.tasks.custom import tasks_of

COST_NOTE = (
    "Means over the runs of an arm. Trained parameters are all that are trained, a new head among "
    "them; stored is what must be kept of a run beside the pretrained network. Updates are those "
    "of a task, with its part of what it shares or builds on, without those of searches. – is not "
    "known, as of tasks that are learned together or in a row."
)
COUNT_NOTE = "Mean ± standard deviation over pretraining seeds, by number of labelled examples:"
LAYER_NOTE = (
    "Means over tasks and seeds. What a method puts into a network counts as a change of weights "
    "only where it can be merged into them. A new head starts from random weights; it stands in "
    "the tables alone."
)
FORGETTING_NOTE = (
    "Main score x 100 of each task after each step, mean over seeds. Average forgetting is the "
    "mean over all tasks but the last of the best earlier score less the last one (Chaudhry et al. "
    "2018, section 3.1); below zero, later tasks helped."
)

RETAINED = "Held-out loss of the pretraining, in nats a token, mean over seeds"


def adapting_sections(results: Results) -> list[Section]:
    """All that there is to show of the ways of adapting."""
    found = (costs(results), counts(results), layers(results), forgetting(results))
    return [section for section in found if section]


def costs(results: Results) -> Section | None:
    grid = cost_table(results)
    return Section("Costs of adapting", [COST_NOTE], tables={"": grid}) if grid.rows else None


def counts(results: Results) -> Section | None:
    from harness.report.figures.adaptation import count_curves

    points = count_points(results)
    svg = count_curves(points)
    if svg is None:
        return None
    caption = (
        "Scores by number of labelled examples, on a logarithmic axis: the mean over pretraining "
        "seeds, with bars from the lowest to the highest. The table below has the numbers."
    )
    plots = {"label_counts": Plot(svg, caption)}
    grids = {"": count_table(points)}
    return Section("Learning curves over label counts", [COUNT_NOTE], plots, grids)


def layers(results: Results) -> Section | None:
    from harness.report.figures.adaptation import layer_lines

    means = {TITLES[record]: layer_means(results, record) for record in BY_LAYER}
    drawn = {
        title: frame[plain_layers(list(frame.columns))]
        for title, frame in means.items()
        if len(frame)
    }
    svg = layer_lines(drawn)
    if svg is None:
        return None
    caption = (
        "What fine-tuning does to each layer, embeddings first, a line for each arm. The tables "
        "below have the numbers."
    )
    plots = {"layers": Plot(svg, caption)}
    return Section("What fine-tuning does", [LAYER_NOTE], plots, layer_tables(results))


def forgetting(results: Results) -> Section | None:
    from harness.report.figures.adaptation import forgetting_maps

    scores = forgetting_scores(results, tasks_of(results.suite))
    svg = forgetting_maps(scores)
    if svg is None:
        return None
    caption = (
        "Scores of the tasks (rows) after each step of the sequence (columns): along a row, what "
        "is forgotten. The tables below have the numbers."
    )
    grids = {
        f"{arm}, average forgetting {average_forgetting(frame):.1f} points": forgetting_table(frame)
        for arm, frame in scores.items()
    }
    retained = retained_table(results)
    if retained.rows:
        grids[RETAINED] = retained
    return Section("Forgetting", [FORGETTING_NOTE], {"forgetting": Plot(svg, caption)}, grids)
