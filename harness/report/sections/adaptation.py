"""Sections on how the arms are adapted: cost, labelled examples, layers, forgetting."""

import pandas as pd

from harness.analysis.frames.forgetting import average_forgetting, forgetting_scores
from harness.analysis.results import Results
from harness.leaderboard.cells import number_cell
from harness.report.figures.adaptation import count_curves, forgetting_maps, layer_lines
from harness.report.layout import Plot, Section
from harness.report.sections.adaptation_tables import (
    TITLES,
    changed_words_table,
    cost_table,
    count_points,
    count_table,
    forgetting_table,
    layer_means,
    layer_tables,
    retained_table,
)
from harness.tasks.custom import tasks_of

COST_NOTE = (
    "Means over the runs of each arm. Trained parameters include the new task head. Stored is what "
    "must be kept of a run in addition to the pretrained network. Updates include the task's share "
    "of updates in joint or preceding stages, but not the hyperparameter search. – means unknown, "
    "as for tasks that are learned jointly or in sequence."
)
COUNT_NOTE = "Mean ± standard deviation over pretraining seeds, by number of labelled examples:"
LAYER_NOTE = (
    "Means over tasks and seeds. Modules that a method adds count as a change of weights only if "
    "they can be merged into the network. A new head starts from random weights, so it appears in "
    "the tables only."
)
FORGETTING_NOTE = (
    "Main metric x 100 of each task after each step of the sequence, mean over seeds. Average "
    "forgetting is the mean, over all tasks but the last, of the best earlier score minus the "
    "final score (Chaudhry et al. 2018, section 3.1); negative values mean that later tasks "
    "helped."
)
CHANGED_NOTE = (
    "Percent of pairs in which the token with the largest absolute attribution of the predicted "
    "class (integrated gradient, Sundararajan et al. 2017) is of a word that the other text lacks, "
    "and the percent of such tokens, which is expected by chance: mean ± standard deviation over "
    "pretraining seeds, on the hold-out."
)
COUNT_CAPTION = (
    "Score by number of labelled examples (logarithmic axis): mean over pretraining seeds, with "
    "bars from the lowest to the highest. The table below lists the numbers."
)
LAYER_CAPTION = (
    "Effect of fine-tuning on each layer, starting with the embeddings, one line per arm. The "
    "tables below list the numbers."
)
FORGETTING_CAPTION = (
    "Score of each task (rows) after each step of the sequence (columns); a decrease along a row "
    "is forgetting. The tables below list the numbers."
)
RETAINED = "Held-out pretraining loss (nats per token), mean over seeds"


def adaptation_cost_section(results: Results) -> Section | None:
    """What the adaptation of each arm costs."""
    table = cost_table(results)
    return Section("Cost of adaptation", [COST_NOTE], tables={"": table}) if table.rows else None


def label_count_section(results: Results) -> Section | None:
    """Scores by number of labelled examples."""
    points = count_points(results)
    svg = count_curves(points)
    if svg is None:
        return None
    plots, tables = {"label_counts": Plot(svg, COUNT_CAPTION)}, {"": count_table(points)}
    return Section("Scores by number of labelled examples", [COUNT_NOTE], plots, tables)


def layer_section(results: Results) -> Section | None:
    """How fine-tuning changes each layer."""
    means = {name: frame for name in TITLES if len(frame := layer_means(results, name))}
    drawn = {TITLES[n]: frame.drop(columns="head", errors="ignore") for n, frame in means.items()}
    svg = layer_lines(drawn)
    if svg is None:
        return None
    plots = {"layers": Plot(svg, LAYER_CAPTION)}
    return Section("Effect of fine-tuning by layer", [LAYER_NOTE], plots, layer_tables(means))


def changed_words_section(results: Results) -> Section | None:
    """Whether networks look at the words in which the texts of a pair differ."""
    table = changed_words_table(results)
    if not table.rows:
        return None
    return Section("Attribution to changed words", [CHANGED_NOTE], tables={"": table})


def _forgotten(scores: pd.DataFrame) -> str:
    return number_cell(average_forgetting(scores), "{:.1f}")


def forgetting_section(results: Results) -> Section | None:
    """Scores of arms that learn task after task."""
    scores = forgetting_scores(results, tasks_of(results.suite))
    svg = forgetting_maps(scores)
    if svg is None:
        return None
    tables = {
        f"{arm}, average forgetting {_forgotten(frame)} points": forgetting_table(frame)
        for arm, frame in scores.items()
    }
    retained = retained_table(results)
    if retained.rows:
        tables[RETAINED] = retained
    plots = {"forgetting": Plot(svg, FORGETTING_CAPTION)}
    return Section("Forgetting", [FORGETTING_NOTE], plots, tables)
