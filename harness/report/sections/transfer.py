"""The section on pretraining loss against downstream scores."""

from collections.abc import Sequence

import pandas as pd
from scipy.stats import spearmanr

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.data.corpora.sources import Corpus, clean_text
from harness.leaderboard.cells import seeds_cell
from harness.leaderboard.text_tables import TextTable
from harness.pretraining.objectives.held_out import SEQUENCE_LENGTH, evaluation_objective
from harness.pretraining.recipes.pretrain import Pretrain
from harness.report.figures.pretraining import loss_and_score
from harness.report.layout import Plot, Section
from harness.report.run_scores import seed_averages
from harness.report.sections.pretraining import shared_runs

LOSS_FIELDS = ("pretrain.tokenizer", "pretrain.module")
"""Fields that must be equal for the losses of two arms to be comparable, besides the texts and what
is predicted of them."""
ENOUGH_RUNS = 5
"""Pretraining runs from which on a rank correlation is reported."""
COMPARABLE = "the same vocabulary, held-out text, output, representation and kind of transform"
NOTE = (
    "Held-out loss at the end of pretraining and average over the suite, mean ± standard deviation "
    "over pretraining seeds. Losses are comparable only within a group of arms with "
    f"{COMPARABLE}; its rates are equal in evaluation. Of arms that start from the same "
    "checkpoints only the first is included, because they share one loss. Models without "
    "pretraining are omitted, because their loss is far above all others."
)
CAPTION = (
    "Average by held-out loss, one dot per pretraining seed and one panel per group of arms with "
    "comparable losses. The loss decreases to the right."
)


def comparable(results: Results, by_byte: bool = False) -> list[list[str]]:
    """Groups of arms with comparable losses: equal in LOSS_FIELDS, in the texts of vocabulary and
    loss, and in what they predict.

    Args:
        by_byte: for losses in bits per byte, of which the text alone must be equal, and whether
            its case is predicted.
    """
    if by_byte:
        texts: dict[str, list[str]] = {}
        for arm in results.plan.arms:
            text = repr((_texts(arm.pretrain)[1], arm.pretrain.tokenizer.lowercase))
            texts.setdefault(text, []).append(arm.name)
        return list(texts.values())
    fields = [of for path, of in results.plan.differences.items() if path.startswith(LOSS_FIELDS)]
    groups: dict[str, list[str]] = {}
    for arm in results.plan.arms:
        predicted = repr([*_texts(arm.pretrain), *_predicted(arm.pretrain)])
        predicted += repr([of.get(arm.name) for of in fields])
        groups.setdefault(predicted, []).append(arm.name)
    return list(groups.values())


def comparable_runs(results: Results) -> list[list[str]]:
    """The same groups, of the names of pretraining runs (`shared_runs`)."""
    runs = shared_runs(results)
    return [
        [run for run, arms in runs.items() if arms[0] in group] for group in comparable(results)
    ]


def _texts(run: Pretrain) -> tuple[Corpus, Corpus]:
    """The texts that the vocabulary is learned from, and that the loss is measured on. Ablations
    change neither."""
    vocabulary, held_out = run.tokenizer.corpus or run.corpus, run.held_out or run.corpus
    return clean_text(vocabulary), clean_text(held_out)


def _predicted(run: Pretrain) -> tuple[object, ...]:
    """What the held-out loss of a run is the loss of (`held_out_batches`)."""
    objective = evaluation_objective(run.objectives[-1])
    length = min(SEQUENCE_LENGTH, max(phase.sequence_length for phase in run.phases))
    return objective.transform, objective.representation, objective.output, length


def transfer_points(results: Results) -> pd.DataFrame:
    """Columns group (from 1), arm, pretrain_seed, loss, average (x 100): every pretraining run with
    a known loss and at least one token, in groups of at least two arms."""
    runs = results.get(pretrain_runs_frame).merge(
        results.get(seed_averages), on=["arm", "pretrain_seed"]
    )
    runs = runs.dropna(subset=["loss", "average"])
    runs = runs[runs["arm"].isin(_firsts(results))]
    tokens = pretraining_costs(results)["tokens"]
    runs = runs[~runs["arm"].isin(tokens.index[tokens == 0])]
    groups = [runs[runs["arm"].isin(group)] for group in comparable(results)]
    several = [group for group in groups if group["arm"].nunique() > 1]
    frames = [group.assign(group=number) for number, group in enumerate(several, start=1)]
    columns = ["group", "arm", "pretrain_seed", "loss", "average"]
    return pd.concat(frames)[columns] if frames else pd.DataFrame(columns=columns)


def _firsts(results: Results) -> list[str]:
    """The first arm of each pretraining whose scores are of one network, and so of one loss."""
    alone = {arm.name for arm in results.plan.arms if arm.networks == 1}
    groups = ([arm for arm in arms if arm in alone] for arms in shared_runs(results).values())
    return [arms[0] for arms in groups if arms]


def transfer_section(results: Results) -> Section | None:
    """Losses and averages, or why there are none; null for a single arm."""
    points = transfer_points(results)
    if points.empty and len(results.arms) < 2:
        return None
    if points.empty:
        return Section("Pretraining loss against scores", [f"Not shown: {_absence(results)}."])
    notes = [NOTE, *_correlations(points)]
    plots = {"transfer": Plot(loss_and_score(points, results.arms), CAPTION)}
    table = _table(points, results.arms)
    return Section("Pretraining loss against scores", notes, plots, {"": table})


def _absence(results: Results) -> str:
    """Why no two models can be shown."""
    known = set(results.get(pretrain_runs_frame).dropna(subset="loss")["arm"])
    tokens = pretraining_costs(results)["tokens"]
    trained = {arm for arm in _firsts(results) if arm in known and tokens.get(arm) != 0}
    if len(trained) < 2:
        return "fewer than two pretrained models have a held-out loss of their own"
    if all(len(trained.intersection(group)) < 2 for group in comparable(results)):
        return f"no two pretrained models have comparable losses, with {COMPARABLE}"
    return "fewer than two pretrained models with comparable losses have an average"


def _correlations(points: pd.DataFrame) -> list[str]:
    """One sentence for each group with enough pretraining runs."""
    found = []
    for group, runs in points.groupby("group"):
        if len(runs) >= ENOUGH_RUNS and runs["loss"].nunique() > 1 < runs["average"].nunique():
            rank = float(spearmanr(runs["loss"], runs["average"])[0])
            found.append(
                f"Group {group}: Spearman's rank correlation of loss and average over {len(runs)} "
                f"pretraining runs is {rank:.2f} (-1: lower losses always have higher averages)."
            )
    return found


def _table(points: pd.DataFrame, arms: Sequence[str]) -> TextTable:
    rows = []
    for arm in arms:
        own = points[points["arm"] == arm]
        if len(own):
            cells = seeds_cell(own["loss"], "{:.3f}"), seeds_cell(own["average"])
            rows.append([arm, str(own["group"].iloc[0]), *cells])
    return TextTable(["arm", "group", "held-out loss", "average"], rows)
