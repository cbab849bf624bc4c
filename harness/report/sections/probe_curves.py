"""What checkpoints during pretraining answer in probes, by category."""

import pandas as pd

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.scores import checkpoint_probes_frame, probes_frame
from harness.analysis.results import Results
from harness.leaderboard.text_tables import TextTable
from harness.report.figures.pretraining import task_curves
from harness.report.layout import Plot
from harness.report.sections.learning_thresholds import THRESHOLDS, thresholds_of
from harness.tasks.probes.probe import OVERALL

CAPTION = (
    "accuracy x 100 of each category by tokens, mean over seeds, with bars from the lowest to the "
    "highest pretraining seed."
)
MANY_CATEGORIES = 20
"""Above this number of categories, their mean alone is shown."""
COLUMNS = ["probe", "arm", "column", "pretrain_seed", "tokens", "score"]


def along_the_way(results: Results) -> tuple[dict[str, Plot], dict[str, TextTable]]:
    """Figures and tables of the probes of checkpoints, by name and title; empty without any."""
    plots, tables = {}, {}
    for name, points in probe_points(results).groupby("probe", sort=False):
        if svg := task_curves(points, results.arms, f"learning_{name}"):
            plots[f"learning_{name}"] = Plot(svg, f"{name}: {CAPTION}")
        if (thresholds := thresholds_of(results, points)).rows:
            tables[f"{name}: {THRESHOLDS}"] = thresholds
    return plots, tables


def probe_points(results: Results) -> pd.DataFrame:
    """Accuracy x 100 of each arm, probe, category (`column`), pretraining seed and checkpoint,
    including the final network: COLUMNS; empty without checkpoints."""
    checkpoints = results.get(checkpoint_probes_frame)
    if checkpoints.empty:
        return pd.DataFrame(columns=COLUMNS)
    ends = results.get(probes_frame).assign(pretrain_fraction=1.0)
    points = pd.concat([checkpoints, ends], ignore_index=True)
    many = points.groupby("probe")["category"].transform("nunique") > MANY_CATEGORIES
    points = points[~many | (points["category"] == OVERALL)]
    tokens = points["arm"].map(pretraining_costs(results)["tokens"])
    return points.rename(columns={"category": "column"}).assign(
        tokens=points["pretrain_fraction"].astype(float) * tokens,
        score=100 * points["score"].astype(float),
    )[COLUMNS]
