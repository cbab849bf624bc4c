"""Values by pretraining seed of the quantities that expectations may be about."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pandas as pd

from harness.analysis.frames.adaptation import adaptation_costs_frame, diagnostics_frame
from harness.analysis.frames.costs import pretraining_flops, scored_parameters
from harness.analysis.frames.forgetting import forgetting_by_seed
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.frames.scores import main_scores, scores_frame
from harness.analysis.results import Results
from harness.finetuning.diagnostics import CHANCE, CHANGED_WORDS, STRONGEST, TRAIN_SCORES
from harness.models.layer_names import EMBEDDINGS, HEAD

Values = Mapping[str, np.ndarray]
"""Arm to its values: [num_seeds] pretraining seeds, or [1] of what is counted."""
RUN = ["arm", "task", "pretrain_seed", "finetune_seed"]
"""Columns that identify a run of fine-tuning."""


def quantity_values(results: Results, name: str) -> dict[str, np.ndarray]:
    """Arm to its values of one of `harness.experiment.outcomes.QUANTITIES`, [num_seeds], sorted by
    seed; arms without one, or with a value that is not a number, are left out."""
    found = VALUES[name](results)
    return {arm: own for arm, own in found.items() if len(own) and np.isfinite(own).all()}


def _pretraining(column: str) -> Callable[[Results], Values]:
    """A column of `pretrain_runs_frame`."""

    def values(results: Results) -> Values:
        runs = results.get(pretrain_runs_frame).dropna(subset=column).sort_values("pretrain_seed")
        return {str(arm): own.to_numpy(float) for arm, own in runs.groupby("arm")[column]}

    return values


def _generator_accuracy(results: Results) -> Values:
    """The share of the chosen tokens of held-out text that the generator restores, x 100; of arms
    without a generator, none."""
    found: dict[str, list[float]] = {}
    for (arm, _), key in sorted(results.plan.pretrain_keys.items()):
        accuracy = 100 * results.metric(key, "validation_generator_accuracy")
        if np.isfinite(accuracy):
            found.setdefault(arm, []).append(accuracy)
    return {arm: np.array(of_seeds) for arm, of_seeds in found.items()}


def _pretraining_seconds(results: Results) -> Values:
    """Those of one pretraining run; of an ensemble over pretraining, of all its networks."""
    runs = results.get(pretrain_runs_frame).dropna(subset="seconds")
    seconds = {(a, s): value for a, s, value in runs[["arm", "pretrain_seed", "seconds"]].values}
    found = {}
    for arm in results.plan.arms:
        each = sorted(arm.replicates(results.experiment.seeds.pretrain))
        known = [of for of in each if all((arm.name, seed) in seconds for seed in of)]
        found[arm.name] = np.array([sum(seconds[arm.name, seed] for seed in of) for of in known])
    return found


def _counted_parameters(results: Results) -> Values:
    return {str(arm): np.array([value]) for arm, value in scored_parameters(results).items()}


def _flops(results: Results) -> Values:
    return {str(arm): np.array([value]) for arm, value in pretraining_flops(results).items()}


def _finetuning(column: str) -> Callable[[Results], Values]:
    """The mean over the tasks of a column of `adaptation_costs_frame`."""
    return lambda results: _by_seed(results, results.get(adaptation_costs_frame), column)


def _counted(column: str) -> Callable[[Results], Values]:
    """The mean over all runs of what is equal for all seeds."""
    values = _finetuning(column)
    return lambda results: {arm: own.mean(keepdims=True) for arm, own in values(results).items()}


def _weight_change(results: Results) -> Values:
    """The mean over tasks and layers of the pretrained network."""
    rows = results.get(diagnostics_frame)
    rows = rows[(rows["record"] == "weight_change") & (rows["layer"] != HEAD)]
    return _by_seed(results, rows, "value")


def _weight_change_of(end: Literal["top", "bottom"]) -> Callable[[Results], Values]:
    """The change of one layer, mean over tasks."""
    return lambda results: _by_seed(results, _ends(results, "weight_change").reset_index(), end)


def _gradient_imbalance(results: Results) -> Values:
    """|log10(norm of the top layer / norm of the bottom layer)| of the gradients of the first
    updates, mean over runs: 0 if they reach the bottom as large as they are at the top, 1 if one is
    ten times the other. Gradients that keep their variance across layers propagate well (Glorot and
    Bengio 2010, section 4.2.1)."""
    ends = _ends(results, "first_gradient_norms")
    with np.errstate(divide="ignore", invalid="ignore"):  # of a layer without gradient: no value
        ends["ratio"] = np.abs(np.log10(ends["top"] / ends["bottom"]))
    return _by_seed(results, ends.reset_index(), "ratio")


def _ends(results: Results, record: str) -> pd.DataFrame:
    """A diagnostic of the `bottom` and the `top` layer, without embeddings and head, by RUN. Of an
    encoder-decoder, these are the first of the encoder and the last of the decoder."""
    rows = results.get(diagnostics_frame)
    of_layers = (rows["record"] == record) & ~rows["layer"].isin([EMBEDDINGS, HEAD])
    values = rows[of_layers].groupby(RUN)["value"]  # each run from bottom to top
    return pd.DataFrame({"bottom": values.first(skipna=False), "top": values.last(skipna=False)})


def _by_seed(results: Results, rows: pd.DataFrame, column: str) -> Values:
    """The mean by arm and pretraining seed; NaN where a run has no value."""
    rows = _of_all_tasks(results, rows)
    means = rows.groupby(["arm", "pretrain_seed"])[column].apply(lambda own: own.mean(skipna=False))
    return {str(arm): own.to_numpy(float) for arm, own in means.groupby("arm")}


def _of_all_tasks(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the arms that support all tasks, and of their pretraining seeds with all runs
    finished: means over other tasks do not compare."""
    runs = (run for run in results.finetune_runs if run.key not in results.finished)
    partial = {(run.arm, run.pretrain_seed) for run in runs}
    unable = {arm for arm, _ in results.plan.unsupported}
    seeds = zip(rows["arm"], rows["pretrain_seed"], strict=True)
    kept = [seed not in partial and seed[0] not in unable for seed in seeds]
    return rows[np.array(kept, dtype=bool)]


def _finetuning_spread(results: Results) -> Values:
    """The standard deviation between fine-tuning seeds of a task's main metric x 100, mean over
    tasks; NaN with one seed, or if a run has no score."""
    frame = main_scores(results.get(scores_frame), results.experiment.evaluate.chosen)
    runs = frame.groupby(["arm", "pretrain_seed", "task"])["value"]
    return _by_seed(results, (100 * runs.std(ddof=1, skipna=False)).reset_index(), "value")


def _overfitting(results: Results) -> Values:
    """The main metric on training examples minus that of the reported ones, x 100, mean over tasks:
    the generalisation gap."""
    rows = results.get(diagnostics_frame)
    trained = rows[rows["record"] == TRAIN_SCORES].set_index(RUN)["value"]
    frame = main_scores(results.get(scores_frame), results.experiment.evaluate.chosen)
    reported = frame.set_index(RUN)["value"].reindex(trained.index)
    return _by_seed(results, (100 * (trained - reported)).reset_index(), "value")


def _changed_words(results: Results) -> Values:
    """The share of pairs in which the strongest token is of a changed word minus that expected by
    chance, x 100, mean over tasks."""
    rows = results.get(diagnostics_frame)
    own = rows[rows["record"] == CHANGED_WORDS].pivot(index=RUN, columns="name", values="value")
    above = 100 * (own[STRONGEST] - own[CHANCE]) if len(own) else pd.Series(dtype=float)
    rows = above.rename("value").reset_index()
    return _by_seed(results, rows, "value") if len(own) else {}


def _forgetting(results: Results) -> Values:
    return forgetting_by_seed(results, results.experiment.evaluate.chosen)


VALUES: Mapping[str, Callable[[Results], Values]] = {
    "loss": _pretraining("loss"),
    "bits_per_byte": _pretraining("bits_per_byte"),
    "generator_accuracy": _generator_accuracy,
    "flops": _flops,
    "parameters": _counted_parameters,
    "trained_parameters": _counted("trained_parameters"),
    "stored_bytes": _counted("stored_bytes"),
    "pretraining_seconds": _pretraining_seconds,
    "finetuning_seconds": _finetuning("seconds"),
    "peak_memory_bytes": _finetuning("peak_memory_bytes"),
    "finetuning_spread": _finetuning_spread,
    "weight_change": _weight_change,
    "weight_change/top_layer": _weight_change_of("top"),
    "weight_change/bottom_layer": _weight_change_of("bottom"),
    "gradient_imbalance": _gradient_imbalance,
    "overfitting": _overfitting,
    "changed_words": _changed_words,
    "forgetting": _forgetting,
}
"""Name of a quantity to the function of its values."""
