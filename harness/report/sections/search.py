"""The search of settings: what its budget buys, what matters, what came out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.analysis.statistics.expected_best import expected_best
from harness.finetuning.search import optuna_search
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable

FAILED = 0.0
"""What a trial without a score counts where means and variances are taken: no correlation, and less
than any guess."""
CURVE_COLUMNS = ["arm", "trials", "mean", "deviation"]


def search_curves(results: Results) -> pd.DataFrame:
    """Expected best score x 100 on the hold-out of 1 .. B trials, mean over the tasks that an arm
    was searched on, and its standard deviation; empty unless trials were drawn at random."""
    if results.sweep is None or results.sweep.sampler != "random":
        return pd.DataFrame(columns=CURVE_COLUMNS)
    rows = []
    for arm, of_arm in _by(results.get(trials_frame), "arm"):
        found = [expected_best(_scores(trials)) for _, trials in _by(of_arm, "task")]
        means = 100 * np.mean([means for means, _ in found], axis=0)
        # Of a mean over tasks that are searched apart.
        spread = 100 * np.sqrt(np.sum([variances for _, variances in found], axis=0)) / len(found)
        rows += [(arm, n + 1, *both) for n, both in enumerate(zip(means, spread, strict=True))]
    return pd.DataFrame(rows, columns=CURVE_COLUMNS)


def search_table(results: Results) -> TextTable:
    """Expected best by number of trials, arms by 1, 2, 4, ... trials and all."""
    curves = search_curves(results)
    most = int(curves["trials"].max()) if len(curves) else 0
    budgets = sorted({2**k for k in range(most.bit_length())} | {most}) if most else []
    rows = []
    for arm, curve in _by(curves, "arm"):
        at = curve.set_index("trials")
        cells = [f"{at['mean'][n]:.1f} ± {at['deviation'][n]:.1f}" for n in budgets]
        rows.append([arm, *cells])
    return TextTable(["arm", *(str(n) for n in budgets)], rows)


def settings_table(results: Results) -> TextTable:
    """Trials, how many came to nothing or were ended early, and the setting that was chosen."""
    names = list(results.sweep.space) if results.sweep else []
    rows = []
    for arm, task, trials, best in chosen_trials(results):
        states = trials["state"]
        counts = [str((states == kind).sum()) for kind in ("diverged", "undefined", "pruned")]
        settings = [_setting(best[name]) for name in names]
        score = f"{100 * best['value']:.1f}" if best["value"] > optuna_search.WORST else MISSING
        rows.append([arm, task, str(len(trials)), *counts, score, *settings])
    head = ["arm", "task", "trials", "diverged", "undefined", "pruned", "hold-out x 100", *names]
    return TextTable(head, rows, text_columns=(0, 1))


def chosen_trials(results: Results) -> Iterator[tuple[str, str, pd.DataFrame, "pd.Series[Any]"]]:
    """Arm, task, trials, and of them the one that was chosen: the first of the best."""
    for (arm, task), trials in _by(results.get(trials_frame), "arm", "task"):
        whole = trials[trials["state"] != "pruned"].fillna({"value": optuna_search.WORST})
        yield arm, task, trials, whole.iloc[int(whole["value"].to_numpy().argmax())]


def importance_table(results: Results) -> TextTable:
    """Share of the variance between trials that each hyperparameter explains, in percent."""
    space = results.sweep.space if results.sweep else {}
    rows = []
    for (arm, task), trials in (
        _by(results.get(trials_frame), "arm", "task") if len(space) > 1 else ()
    ):
        whole = trials[trials["state"] != "pruned"]
        tried: Any = whole[list(space)].to_dict("records")
        try:
            found = optuna_search.importances(tried, _scores(whole).tolist(), space)
            cells = [*(f"{100 * found[name]:.0f}" for name in space), ""]
        except ValueError as reason:
            cells = [*(MISSING for _ in space), str(reason)]
        rows.append([arm, task, *cells])
    if rows and not any(row[-1] for row in rows):
        return TextTable(["arm", "task", *space], [row[:-1] for row in rows], text_columns=(0, 1))
    columns = (0, 1, len(space) + 2)
    return TextTable(["arm", "task", *space, "why not"], rows, text_columns=columns)


def search_note(results: Results) -> str:
    """How to read the section, in a few sentences."""
    if results.get(trials_frame).empty or results.sweep is None:
        return ""
    said = (
        f"{results.sweep.label[:1].upper()}{results.sweep.label[1:]} for every arm and task, on a "
        "hold-out of train, with seeds apart from those reported."
    )
    if results.sweep.sampler == "random":
        said += (
            " All try the same points. Expected best: the best of n random trials on the hold-out "
            "(Dodge et al. 2019, equation 1), mean over tasks ± standard deviation, each task "
            "searched by itself; it is drawn with replacement from the trials made, so somewhat "
            "low, most so at the right end."
        )
    else:
        said += (
            " No expected best of n trials is shown: the sampler "
            f"{results.sweep.sampler} does not draw trials independently."
        )
    return said + (
        " Importance: what each hyperparameter explains by itself, by functional ANOVA over a "
        "random forest (Hutter et al. 2014), in percent of their sum; rough with few trials."
        f" A trial without a score counts {FAILED:g} in both."
    )


def _by(frame: pd.DataFrame, *names: str) -> Sequence[tuple[Any, pd.DataFrame]]:
    if frame.empty:
        return []
    return list(frame.groupby(names[0] if len(names) == 1 else list(names), sort=False))


def _scores(trials: pd.DataFrame) -> np.ndarray:
    return trials["value"].fillna(FAILED).to_numpy(float)


def _setting(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
