"""The sections on hyperparameter search: selected settings, expected best, importance."""

from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.trials import SEARCH, selected_trials, trials_frame
from harness.analysis.results import Results
from harness.analysis.statistics.expected_best import expected_best
from harness.core.rounding import one_decimal
from harness.finetuning.search import optuna_search
from harness.finetuning.search.space import Choices, Range, parameters, shared
from harness.finetuning.search.sweep import Sweep
from harness.finetuning.search.trials import WORST
from harness.leaderboard.cells import MISSING, mean_cell
from harness.leaderboard.text_tables import TextTable
from harness.plan.plan import Plan
from harness.plan.search_stages import ALL_TASKS
from harness.report.figures.differences import search_curves as draw_curves
from harness.report.layout import Plot, Section
from harness.report.search_edges import EDGE, EDGE_NOTE, edge_mark

FAILED = 0.0
"""Score of a failed trial in means and variances: no correlation, and worse than any guess."""
CHOSEN_NOTE = (
    "Selected by the search on a hold-out of the training set, for each arm and task; all other "
    "settings are those of the protocol."
)
ALL_TASKS_NOTE = (
    f"Under {ALL_TASKS}: the search of one network that is trained on all of them, by the mean of "
    f"their main scores on the hold-outs, where an undefined one counts as {WORST:g}."
)
CURVE_COLUMNS = ["arm", "trials", "mean", "deviation"]
CAPTION = (
    "Expected best score on the hold-out by number of random trials, mean over tasks, with its "
    "standard deviation."
)
RANDOM_NOTE = (
    "All arms and tasks try the same points. Expected best is the expected score of the best of n "
    "random trials on the hold-out (Dodge et al. 2019, equation 1), mean over tasks ± standard "
    "deviation; each task is searched separately. It is estimated by drawing with replacement from "
    "the completed trials and therefore biased low, most for large n."
)
IMPORTANCE_NOTE = (
    "Importance is the share of variance that each hyperparameter explains by itself (functional "
    "ANOVA over a random forest, Hutter et al. 2014), in percent of the sum over hyperparameters; "
    "it is a rough estimate with few trials."
)
FAILED_NOTE = f"A trial without a score counts as {FAILED:g}."


def search_section(results: Results) -> Section | None:
    """The hyperparameter search; null if there was none."""
    if results.get(trials_frame).empty or results.sweep is None:
        return None
    svg = draw_curves(search_curves(results), results.arms)
    importance = importance_table(results)
    tables = {
        "Expected best score on the hold-out x 100, by number of trials": search_table(results),
        "Importance of each hyperparameter, in percent": importance,
    }
    notes = [_note(results.plan, results.sweep, with_importance=bool(importance.rows))]
    if ALL_TASKS in set(results.get(trials_frame)["task"]):
        notes.append(ALL_TASKS_NOTE)
    plots = {"search": Plot(svg, CAPTION)} if svg else {}
    shown = {title: table for title, table in tables.items() if table.rows}
    folded = {"Trials of each arm and task": trials_table(results)}
    return Section("Hyperparameter search", notes, plots, shown, folded)


def chosen_section(results: Results) -> Section | None:
    """The hyperparameters that the search selected; null without a search."""
    table = chosen_table(results)
    if not table.rows:
        return None
    notes = [CHOSEN_NOTE, *([ALL_TASKS_NOTE] if ALL_TASKS in table.head else [])]
    if any(EDGE in cell for row in table.rows for cell in row[2:]):
        notes.append(EDGE_NOTE)
    return Section("Chosen hyperparameters", notes, tables={"": table})


def chosen_table(results: Results) -> TextTable:
    """The selected value of each hyperparameter: arms by tasks. With a search for each pretraining
    seed, the values of all, in the order of the seeds."""
    best = selected_trials(results)
    tasks = list(best["task"].unique())
    rows = []
    for arm, own in best.groupby("arm", sort=False):
        space = parameters(results.plan.searches[str(arm)].space)
        for name in (one for one in results.plan.searched if one in space):
            values = (own.loc[own["task"] == task, name] for task in tasks)
            rows.append([str(arm), name, *(_settings(one, space[name]) for one in values)])
    return TextTable(["arm", "hyperparameter", *tasks], rows, text_columns=(0, 1))


def search_curves(results: Results) -> pd.DataFrame:
    """Expected best score x 100 on the hold-out of 1 .. B trials and its standard deviation, mean
    over the tasks of each arm: CURVE_COLUMNS; empty unless trials are drawn at random."""
    if results.sweep is None or results.sweep.sampler != "random":
        return pd.DataFrame(columns=CURVE_COLUMNS)
    rows = []
    for arm, trials_of_arm in results.get(trials_frame).groupby("arm", sort=False):
        found = [
            expected_best(_scores(trials))
            for _, trials in trials_of_arm.groupby(SEARCH, sort=False)
        ]
        means = 100 * np.mean([means for means, _ in found], axis=0)
        # The variance of a mean over independent searches.
        spread = 100 * np.sqrt(np.sum([variances for _, variances in found], axis=0)) / len(found)
        rows += [(arm, n + 1, *both) for n, both in enumerate(zip(means, spread, strict=True))]
    return pd.DataFrame(rows, columns=CURVE_COLUMNS)


def search_table(results: Results) -> TextTable:
    """Expected best of each arm after 1, 2, 4, ... and all trials."""
    curves = search_curves(results)
    most = int(curves["trials"].max()) if len(curves) else 0
    budgets = sorted({2**k for k in range(most.bit_length())} | {most}) if most else []
    rows = []
    for arm, curve in curves.groupby("arm", sort=False):
        at = curve.set_index("trials")
        rows.append([str(arm), *(mean_cell(at["mean"][n], at["deviation"][n]) for n in budgets)])
    return TextTable(["arm", *(str(n) for n in budgets)], rows)


def trials_table(results: Results) -> TextTable:
    """Number of trials, how many failed or were pruned, and the score of the selected one, mean
    over the searches of an arm and task."""
    rows = []
    best = dict(iter(selected_trials(results).groupby(["arm", "task"])["value"]))
    for of, trials in results.get(trials_frame).groupby(["arm", "task"], sort=False):
        states = trials["state"]
        counts = [str((states == kind).sum()) for kind in ("diverged", "undefined", "pruned")]
        known = of in best and best[of].min() > WORST
        score = one_decimal(100 * best[of].mean()) if known else MISSING
        rows.append([*map(str, of), str(len(trials)), *counts, score])
    head = ["arm", "task", "trials", "diverged", "undefined", "pruned", "hold-out x 100"]
    return TextTable(head, rows, text_columns=(0, 1))


def importance_table(results: Results) -> TextTable:
    """Share of the variance between trials that each hyperparameter explains, in percent."""
    spaces = {arm: sweep.space for arm, sweep in results.plan.searches.items()}
    names = list(dict.fromkeys(name for space in spaces.values() for name in shared(space)))
    groups = results.get(trials_frame).groupby(["arm", "task"], sort=False)
    rows = []
    for (arm, task), trials in groups if len(names) > 1 else ():
        whole = trials[trials["state"] != "pruned"]
        tried: Any = whole[names].to_dict("records")
        try:
            found = optuna_search.importances(tried, _scores(whole).tolist(), spaces[str(arm)])
            shown = (f"{100 * found[name]:.0f}" if name in found else MISSING for name in names)
            cells = [*shown, ""]
        except ValueError as reason:
            cells = [*(MISSING for _ in names), str(reason)]
        rows.append([str(arm), str(task), *cells])
    if rows and not any(row[-1] for row in rows):
        return TextTable(["arm", "task", *names], [row[:-1] for row in rows], text_columns=(0, 1))
    columns = (0, 1, len(names) + 2)
    return TextTable(["arm", "task", *names, "reason"], rows, text_columns=columns)


def _note(plan: Plan, sweep: Sweep, with_importance: bool) -> str:
    """How the search was done and how to read the section."""
    label = next(iter(plan.searches.values())).label
    start = (
        f"{label[:1].upper()}{label[1:]} for every arm and task, on a hold-out of the training "
        f"set, from the model of {'that' if sweep.seeds else 'the first pretraining'} seed, with "
        "fine-tuning seeds that no reported run uses."
    )
    no_curves = (
        f"The expected best of n trials is not shown, because the sampler {sweep.sampler} does not "
        "draw trials independently."
    )
    is_random = sweep.sampler == "random"
    notes = [start, RANDOM_NOTE if is_random else no_curves]
    notes += [IMPORTANCE_NOTE] if with_importance else []
    notes += [FAILED_NOTE] if is_random or with_importance else []
    return " ".join(notes)


def _scores(trials: pd.DataFrame) -> np.ndarray:
    return trials["value"].fillna(FAILED).to_numpy(float)


def _settings(values: "pd.Series[Any]", tried: Range | Choices) -> str:
    """The values of a hyperparameter that searches selected, once if they are equal."""
    shown = [f"{_setting(value)}{edge_mark(tried, value)}" for value in values] or [MISSING]
    return ", ".join(shown if len(set(shown)) > 1 else shown[:1])


def _setting(value: object) -> str:
    """A hyperparameter's value; a dash if it does not apply to the trial."""
    if value is None or value != value:
        return MISSING
    return f"{value:.3g}" if isinstance(value, float) else str(value)
