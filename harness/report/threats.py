"""Threats to validity that can be found in the results."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.comparison.resampling import cell_name
from harness.analysis.frames.pretrain_trials import pretrain_trials_frame
from harness.analysis.frames.runs import finetune_runs_frame
from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.analysis.statistics.seed_limits import seed_note, unseen_note
from harness.leaderboard.table import Table
from harness.plan.checks.settings import (
    more_pretraining,
    shared_learning_rate,
    small_checkpoints,
    unlike_defaults,
)
from harness.report import (
    chance_checks,
    pretraining_checks,
    run_checks,
    search_checks,
    search_edges,
)
from harness.report.comparison import compared_arms
from harness.report.declared import declared_late
from harness.report.difference_tables import num_columns
from harness.report.equal_arms import equal_arms
from harness.report.looks import threats_of_looks
from harness.report.run_scores import RunScores
from harness.report.two_groups import split_runs
from harness.report.verdict import Pair
from harness.tasks.metrics import METRICS
from harness.tasks.scores import GROUPS
from harness.tasks.task import Column

FEW_STAGES = 5
"""Up to this number, unfinished stages are named one by one."""
ENOUGH_SEEDS = 10
"""Pretraining seeds per arm from which on their number is not mentioned."""
TWO_GROUPS = "arms whose runs fall into two groups"
"""Name of the check."""
ENOUGH_GROUPS = 30
"""Groups of examples from which on their number is not mentioned: few are five to thirty in
Cameron, Gelbach & Miller 2008 ("Bootstrap-based improvements for inference with clustered errors",
Review of Economics and Statistics 90, abstract)."""


def threats(results: Results, table: Table, pairs: Sequence[Pair], scores: RunScores) -> list[str]:
    """One or two sentences on each threat found, and the checks that found nothing.

    Args:
        scores: result of `all_run_scores`.
    """
    found, absent = findings(results, table, pairs, scores)
    return [*found, *([f"No sign of: {', '.join(absent)}."] if absent else [])]


def findings(
    results: Results, table: Table, pairs: Sequence[Pair], scores: RunScores
) -> tuple[list[str], list[str]]:
    """One or two sentences on each threat found, and the names of the checks that found nothing;
    for the arguments, see `threats`."""
    found = _checked(results, table, scores)
    groups = [*split_runs(pair.differences for pair in pairs)]
    judged = any(one for pair in pairs for one in pair.differences.values())
    threats_found = [
        *_few_seeds(table),
        *groups,
        *pretraining_checks.short_pretraining(results),
        *pretraining_checks.failed_seeds(results),
        *pretraining_checks.unmet_weights(results),
        *_unlike_arms(results),
        *equal_arms(results),
        *(sentence for sentences in found.values() for sentence in sentences),
        *chance_checks.unknown_words(results),
        *_many_comparisons(pairs),
        *_approximations(results, table),
        *search_checks.searched_once(results),
        *search_checks.untuned(results),
        *search_checks.untuned_pretraining(results),
        *search_checks.unsearched_pretraining(results),
        *search_checks.selected_by_reported_losses(results),
        *declared_late(results),
        *threats_of_looks(results),
        *results.experiment.threats,
        *of_checkpoints(results),
        *_adopted(results),
        *_unfinished(results),
        *(f"{line}." for line in results.plan.unsupported_lines),
    ]
    absent = [name for name, sentences in found.items() if not sentences]
    return threats_found, [*absent, *([TWO_GROUPS] if judged and not groups else [])]


def of_checkpoints(results: Results) -> Iterator[str]:
    """What checkpoints lack, and what of them is not used."""
    for arm, imported in results.imported.items():
        yield from (f"The checkpoint of {arm} {note}." for note in imported.get("notes", ()))


def _adopted(results: Results) -> Iterator[str]:
    """A sentence on results that were computed before a change, and taken over."""
    changes = Counter(one.adopted for one in results.finished.values() if one.adopted)
    if changes:
        named = "; ".join(f"{count} ({change})" for change, count in changes.items())
        yield f"Stages that were computed before a change and adopted as they were: {named}."


def _checked(results: Results, table: Table, scores: RunScores) -> dict[str, list[str]]:
    """Check to a sentence per finding; without checks that do not apply to these arms and results.
    Stages of earlier versions may not have recorded truncation."""
    runs, trials = results.get(finetune_runs_frame), results.get(trials_frame)
    trained = set(search_checks.trained_arms(results))
    finished = runs[runs["finished"].astype(bool) & runs["arm"].isin(trained)]
    found = {"missing scores": _missing_scores(results, table, scores)}
    if len(results.get(scores_frame)):
        found |= _of_scores(results, table, scores)
    if losses := pretraining_checks.losses_beside_frequencies(results):
        name = "pretraining that learned hardly more than token frequencies"
        found[name] = pretraining_checks.unlearned(losses)
    truncated = [*run_checks.truncated(results)]
    if truncated or (len(finished) and finished["truncated"].notna().all()):
        name = f"truncation of more than {100 * run_checks.FEW_TRUNCATED:g} % of train examples"
        found[name] = iter(truncated)
    if len(finished) or len(trials):
        found["diverged runs"] = run_checks.diverged(results)
    if len(trials) and len(trained) > 1:
        found["unequal numbers of trials"] = search_checks.unequal_trials(results)
    if len(results.get(pretrain_trials_frame)) and search_edges.can_be_inside_pretraining(results):
        name = "chosen pretraining settings on the edge of what was tried"
        found[name] = search_edges.edges_of_pretraining(results)
    if len(trials) and search_edges.can_be_inside_finetuning(results):
        name = "chosen fine-tuning settings on the edge of what was tried"
        found[name] = search_edges.edges_of_finetuning(results)
    if beside := search_checks.holdout_beside_dev(results):
        name = f"hold-out scores more than {search_checks.FAR_ABOVE_DEV:g} points above dev"
        found[name] = search_checks.far_above_dev(beside)
    return {name: list(sentences) for name, sentences in found.items()}


def _of_scores(results: Results, table: Table, scores: RunScores) -> dict[str, Iterator[str]]:
    """The checks of scores that apply."""
    found = {}
    guided = [arm for arm in results.arms if not run_checks.guesses(results, arm)]
    levels = chance_checks.chance_levels(results, table) if guided else {}
    if guided and run_checks.chance(table):
        name = "runs and arms at or below chance"
        found[name] = run_checks.at_chance(results, table, scores, levels)
    if levels:
        name = "arms that are not significantly above chance"
        found[name] = chance_checks.near_chance(results, table, results.get(compared_arms))
    if len(results.arms) > 1:
        name = "columns in which several arms score at the maximum"
        found[name] = run_checks.at_maximum(results, table, scores)
    if 0 < len(chance_checks.controls(results)) < len(results.arms):
        name = "arms that are not significantly above an untrained network or a baseline"
        found[name] = chance_checks.near_controls(results, results.get(compared_arms))
    if run_checks.has_labels(results, table):
        name = "evaluation sets whose examples all have one label"
        found[name] = run_checks.one_label(results, table)
    if guided:
        name = "runs with constant predictions"
        found[name] = run_checks.constant_predictions(results, table)
    several = len({column.task for column in table.columns}) > 1 or len(results.arms) > 1
    if several and len(results.experiment.seeds.pretrain) > 1:
        name = "pretraining seeds without scores on every task"
        found[name] = run_checks.excluded_seeds(results)
    return found


def _few_seeds(table: Table) -> Iterator[str]:
    """What few pretraining seeds cannot show, by number of seeds if the arms differ in it."""
    arms = {row.name: row.seed_counts[0] for row in table.rows if row.seed_counts[0]}
    for count in sorted(seeds for seeds in set(arms.values()) if seeds < ENOUGH_SEEDS):
        named = ", ".join(arm for arm, seeds in arms.items() if seeds == count)
        several = len(set(arms.values())) > 1
        yield seed_note(count, f"Some arms ({named})") if several else seed_note(count)
    repeated = [count for count in arms.values() if count > 1]
    if repeated and (note := unseen_note(min(repeated))):
        yield note


def _unlike_arms(results: Results) -> list[str]:
    """What differs between arms besides what the experiment asks about."""
    checks = (unlike_defaults, small_checkpoints, shared_learning_rate, more_pretraining)
    return [f"{line}." for check in checks for line in check(results.plan)]


def _missing_scores(results: Results, table: Table, scores: RunScores) -> Iterator[str]:
    """Planned runs without a score, by arm and column."""
    tasks = {column.name: column.task for column in table.columns}
    planned = results.get(run_checks.planned_runs)
    for arm in results.arms:
        missing = []
        for name, runs in scores.items():
            total = planned[arm, tasks[name]]
            gap = total - int(np.isfinite(runs[arm]).sum())
            missing += [f"{name} ({gap} of {total})"] if gap > 0 else []
        if missing:
            yield (
                f"{arm} lacks scores: {', '.join(missing)}. A run has no score if it has not "
                "finished (the mean is over fewer runs) or if its predictions are constant and a "
                "correlation is undefined (the cell is empty)."
            )


def _many_comparisons(pairs: Sequence[Pair]) -> Iterator[str]:
    number = sum(
        found is not None
        for pair in pairs
        for name, found in pair.differences.items()
        if name != AVERAGE or num_columns(pair) > 1
    )
    if number > 1:
        yield (
            f"{number} differences are shown with unadjusted intervals: if no arms differed, about "
            f"{number * 0.05:.1f} would exclude zero by chance. The adjusted p accounts for their "
            "number."
        )


def _approximations(results: Results, table: Table) -> Iterator[str]:
    few = [
        f"{column.name} ({number})"
        for column in table.columns
        if (number := _num_groups(results, column)) and number < ENOUGH_GROUPS
    ]
    if few:
        yield (
            "Intervals and p resample whole groups of examples, and are too narrow with fewer than "
            f"{ENOUGH_GROUPS} groups (Cameron et al. 2008): {', '.join(few)}."
        )
    if any(m.startswith("spearman") for column in table.columns for m in column.metrics):
        yield (
            "Intervals of Spearman correlations resample the ranks of the full dev set instead of "
            "ranking each resample."
        )


def _num_groups(results: Results, column: Column) -> int:
    """The groups that are resampled for a column; 0 if single examples are, or no run is
    finished."""
    if all(METRICS[metric].grouped for metric in column.metrics):
        return 0
    keys = (run.key for run in results.finetune_runs if run.task == column.task)
    key = next((key for key in keys if key in results.finished), None)
    groups = results.counts(key).get(cell_name(column.split, GROUPS)) if key else None
    return 0 if groups is None else int(groups.max()) + 1


def _unfinished(results: Results) -> list[str]:
    """One sentence per unfinished stage, or their number by kind if there are many."""
    stages = [stage for key, stage in results.plan.stages.items() if key not in results.finished]
    if len(stages) <= FEW_STAGES:
        return [f"Not finished: {stage.kind} {stage.label}." for stage in stages]
    counts = Counter(stage.kind for stage in stages)
    named = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return [f"Not finished: {len(stages)} stages ({named}); `harness status` lists them."]
