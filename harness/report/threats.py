"""Threats to validity that can be found in the results."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from harness.analysis.frames.runs import finetune_runs_frame
from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.analysis.statistics.seed_limits import seed_note
from harness.leaderboard.table import Table
from harness.report import chance_checks, pretraining_checks, run_checks, search_checks
from harness.report.comparison import compared_arms
from harness.report.run_scores import RunScores
from harness.report.verdict import Pair

FEW_STAGES = 5
"""Up to this number, unfinished stages are named one by one."""
ENOUGH_SEEDS = 10
"""Pretraining seeds per arm from which on their number is not mentioned."""


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
    threats_found = [
        *_few_seeds(table),
        *pretraining_checks.short_pretraining(results),
        *(sentence for sentences in found.values() for sentence in sentences),
        *_many_comparisons(pairs),
        *_approximations(table),
        *search_checks.untuned(results),
        *results.experiment.threats,
        *_unfinished(results),
        *(f"{line}." for line in results.plan.unsupported_lines),
    ]
    return threats_found, [name for name, sentences in found.items() if not sentences]


def _checked(results: Results, table: Table, scores: RunScores) -> dict[str, list[str]]:
    """Check to a sentence per finding; without checks that the results do not allow. Stages of
    earlier versions may not have recorded truncation."""
    runs, trials = results.get(finetune_runs_frame), results.get(trials_frame)
    finished = runs[runs["finished"].astype(bool)]
    found = {"missing scores": _missing_scores(results, table, scores)}
    if len(results.get(scores_frame)):
        if run_checks.chance(table):
            found["runs and arms at or below chance"] = run_checks.at_chance(results, table, scores)
        found |= {
            "arms that are not significantly above chance": chance_checks.near_chance(
                results, table
            ),
            "arms that are not significantly above an untrained network or a baseline": (
                chance_checks.near_controls(results, results.get(compared_arms))
            ),
            "evaluation sets whose examples all have one label": run_checks.one_label(
                results, table
            ),
            "runs with constant predictions": run_checks.constant_predictions(results, table),
            "pretraining seeds without scores on every task": run_checks.excluded_seeds(results),
        }
    if results.plan.pretrain_keys:
        name = "pretraining that learned hardly more than token frequencies"
        found[name] = pretraining_checks.unlearned(results)
    truncated = [*run_checks.truncated(results)]
    if truncated or (len(finished) and finished["truncated"].notna().all()):
        name = f"truncation of more than {100 * run_checks.FEW_TRUNCATED:g} % of train examples"
        found[name] = iter(truncated)
    if len(finished) or len(trials):
        found["diverged runs"] = run_checks.diverged(results)
    if len(trials):
        found["unequal numbers of trials"] = search_checks.unequal_trials(results)
    if beside := search_checks.holdout_beside_dev(results):
        name = f"hold-out scores more than {search_checks.FAR_ABOVE_DEV:g} points above dev"
        found[name] = search_checks.far_above_dev(beside)
    return {name: list(sentences) for name, sentences in found.items()}


def _few_seeds(table: Table) -> Iterator[str]:
    """What few pretraining seeds cannot show, by number of seeds if the arms differ in it."""
    arms = {row.name: row.seed_counts[0] for row in table.rows if row.seed_counts[0]}
    for count in sorted(seeds for seeds in set(arms.values()) if seeds < ENOUGH_SEEDS):
        named = ", ".join(arm for arm, seeds in arms.items() if seeds == count)
        several = len(set(arms.values())) > 1
        yield seed_note(count, f"Some arms ({named})") if several else seed_note(count)


def _missing_scores(results: Results, table: Table, scores: RunScores) -> Iterator[str]:
    """Planned runs without a score, by arm and column."""
    tasks = {column.name: column.task for column in table.columns}
    for arm in results.arms:
        missing = []
        for name, runs in scores.items():
            total = run_checks.planned(results, arm, tasks[name])
            gap = total - int(np.isfinite(runs[arm]).sum())
            missing += [f"{name} ({gap} of {total})"] if gap > 0 else []
        if missing:
            yield (
                f"{arm} lacks scores: {', '.join(missing)}. A run has no score if it has not "
                "finished (the mean is over fewer runs) or if its predictions are constant and a "
                "correlation is undefined (the cell is empty)."
            )


def _many_comparisons(pairs: Sequence[Pair]) -> Iterator[str]:
    number = sum(found is not None for pair in pairs for found in pair.differences.values())
    if number > 1:
        yield (
            f"{number} differences are shown with unadjusted intervals: if no arms differed, about "
            f"{number * 0.05:.1f} would exclude zero by chance. The adjusted p accounts for their "
            "number."
        )


def _approximations(table: Table) -> Iterator[str]:
    if any(m.startswith("spearman") for column in table.columns for m in column.metrics):
        yield (
            "Intervals of Spearman correlations resample the ranks of the full dev set instead of "
            "ranking each resample."
        )


def _unfinished(results: Results) -> list[str]:
    """One sentence per unfinished stage, or their number by kind if there are many."""
    stages = [stage for key, stage in results.plan.stages.items() if key not in results.finished]
    if len(stages) <= FEW_STAGES:
        return [f"Not finished: {stage.kind} {stage.label}." for stage in stages]
    counts = Counter(stage.kind for stage in stages)
    named = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return [f"Not finished: {len(stages)} stages ({named}); `harness status` lists them."]
