"""Problems with runs: scores at chance, constant outputs, truncation, divergence, lost seeds."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.runs import finetune_runs_frame
from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.core.rounding import one_decimal
from harness.leaderboard.table import Table
from harness.report.run_scores import RunScores
from harness.tasks.custom import tasks_of
from harness.tasks.task import Column, Task

FAR_BELOW = 10.0
"""Points above chance of reversed answers from which on a run is called inverted."""
ZERO_BY_CHANCE = ("matthews", "pearson", "spearman")
"""Metrics whose expected value is 0 without knowledge, and that change their sign if answers are
reversed."""
NEAR_MAXIMUM = 0.995
"""Share of the highest possible score from which on a run is at it."""
FEW_TRUNCATED = 0.01
"""Share of train examples up to which truncation is not reported."""


def at_chance(
    results: Results, table: Table, scores: RunScores, known: dict[str, float]
) -> Iterator[str]:
    """A sentence on the runs at or below chance, and one on arms without better runs.

    Args:
        known: column to the score x 100 of the best guess, also where no task declares it.
    """
    levels = chance(table)
    counts = {
        arm: _failed(scores, levels, arm) for arm in results.arms if not guesses(results, arm)
    }
    failed = {arm: found for arm, found in counts.items() if found[0]}
    if failed:
        named = ", ".join(
            f"arm {arm}, {bad} of its {total}" for arm, (bad, total) in failed.items()
        )
        yield (
            "Scores at or below chance, one for each run and column (failed runs in Mosbach et "
            f"al. 2021, section 3): {named}."
        )
    inverted = {arm: _inverted(results, table, scores, levels, arm) for arm in counts}
    reversed_runs = [f"{arm} on {', '.join(found)}" for arm, found in inverted.items() if found]
    if reversed_runs:
        yield (
            "Runs far below chance, whose answers would score above it if they were reversed: "
            f"{'; '.join(reversed_runs)}. They may have learned the task inverted, if labels mean "
            "something else in the evaluation split, or what decides a label may differ there."
        )
    everywhere = {arm: _failed(scores, {**known, **levels}, arm) for arm in failed}
    never = [arm for arm, (bad, total) in everywhere.items() if bad == total and not inverted[arm]]
    if never:
        yield f"Arms without any run above chance: {', '.join(never)}."


def at_maximum(results: Results, table: Table, scores: RunScores) -> Iterator[str]:
    """A sentence on the columns in which several arms score at the maximum in every run."""
    tasks, found = tasks_of(results.suite), []
    for column in table.columns:
        most = maximum(tasks[column.task], column)
        runs = scores.get(column.name, {}).items()
        arms = [arm for arm, of_arm in runs if len(of_arm) and min(of_arm) >= NEAR_MAXIMUM * most]
        if len(arms) > 1:
            found.append(f"{column.name} ({one_decimal(most)}; {', '.join(arms)})")
    if found:
        yield (
            "These columns cannot separate the arms whose runs all score at the maximum: "
            f"{', '.join(found)}. Harder tasks, or fewer training examples "
            "(protocol.max_train_examples), can."
        )


def maximum(task: Task, column: Column) -> float:
    """The highest possible score x 100: of a task of the micro-world its ceiling, as the share of
    wrong labels is known, on the split whose ceiling that is; that of others, such as human
    performance, can be exceeded."""
    is_main = column.metrics == task.metrics[:1] and column.split == task.evaluation[0].name
    is_exact = is_main and task.data.source == "microworld"
    return 100 * (task.ceiling if is_exact and task.ceiling else 1.0)


def _inverted(
    results: Results, table: Table, scores: RunScores, levels: dict[str, float], arm: str
) -> list[str]:
    """`sst2 (8.0; chance 50.9)`: the lowest score of an arm in each column where the reverse of its
    answers scores more than FAR_BELOW points above chance."""
    tasks, found = tasks_of(results.suite), []
    for column in table.columns:
        both = _with_reversed(tasks[column.task], column)
        if both is not None and column.name in levels and column.name in scores:
            low, level = min(scores[column.name][arm], default=both), levels[column.name]
            if both - low > level + FAR_BELOW:
                found.append(f"{column.name} ({one_decimal(low)}; chance {one_decimal(level)})")
    return found


def _with_reversed(task: Task, column: Column) -> float | None:
    """Score x 100 of any answers plus that of their reverse; null if it depends on the answers."""
    metric, *others = column.metrics
    if others or (task.kind == "classification" and len(task.labels) != 2):
        return None
    if metric == "accuracy":
        return 100.0 if task.kind == "classification" else None
    return 0.0 if metric in ZERO_BY_CHANCE else None


def chance(table: Table) -> dict[str, float]:
    """Column to the score x 100 of the best guess without reading the input, if known."""
    levels = [row for row in table.references if row.name == "chance"]
    if not levels:
        return {}
    scores = zip(table.columns, levels[0].scores, strict=True)
    return {column.name: score.mean for column, score in scores if score}


def _failed(scores: RunScores, chance: dict[str, float], arm: str) -> tuple[int, int]:
    """Number of an arm's scores at or below chance or undefined, and number of all its scores."""
    runs = [(run, chance[name]) for name in chance if name in scores for run in scores[name][arm]]
    return sum(not run > level for run, level in runs), len(runs)


def guesses(results: Results, arm: str) -> bool:
    """Whether an arm is the baseline that does not read its input."""
    return family(results, arm) == "majority"


def family(results: Results, arm: str) -> str | None:
    """The model family of an arm; null if all arms have the same."""
    return results.plan.differences.get("pretrain.model.family", {}).get(arm)


def planned_runs(results: Results) -> Counter[tuple[str, str]]:
    """(arm, task) to the number of runs planned; 0 if the arm does not support the task."""
    runs = results.get(finetune_runs_frame)
    return Counter(zip(runs["arm"], runs["task"], strict=True))


def has_labels(results: Results, table: Table) -> bool:
    """Whether some column has a label or value for each of several examples."""
    return any(len(labels) > 1 for _, labels in _labels(results, table))


def constant_labels(results: Results, table: Table) -> Iterator[tuple[str, str]]:
    """(task, split) of each column whose examples all have the same label; not of retrieval, where
    pairs may be judged alone that belong together."""
    tasks = results.experiment.evaluate.chosen
    for (task, split), labels in _labels(results, table):
        if len(labels) > 1 and labels.nunique() == 1 and tasks[task].kind != "retrieval":
            yield task, split


def _labels(results: Results, table: Table) -> Iterator[tuple[tuple[str, str], "pd.Series[float]"]]:
    """(task, split) and the numeric labels of each column with such labels."""
    keys = results.get(scores_frame).drop_duplicates("task").set_index("task")["key"]
    for task, split in dict.fromkeys((column.task, column.split) for column in table.columns):
        if task in keys.index:
            rows = results.predictions(str(keys[task]))
            labels = rows[rows["split"] == split]["label"]
            if labels.dtype != object:
                yield (task, split), labels


def constant_runs(results: Results, table: Table) -> Iterator[tuple[str, str, str]]:
    """(arm, task, seeds) of each run that predicts the same for every example of all reported
    splits, the same tag for every word, or no mention. Splits by what decides an answer, as those
    of overlap, may each have one."""
    splits = {(column.task, column.split) for column in table.columns}
    identity = ["arm", "task", "pretrain_seed", "finetune_seed", "key"]
    runs = results.get(scores_frame)[identity].drop_duplicates()
    for run in runs.itertuples(index=False):
        rows = results.predictions(str(run.key))
        own = [(run.task, split) in splits for split in rows["split"]]
        if any(own) and _is_constant(rows.loc[own, "prediction"]):
            yield str(run.arm), str(run.task), f"{run.pretrain_seed}.{run.finetune_seed}"


def _is_constant(answers: pd.Series) -> bool:
    """Whether all answers are equal: all tags of all sentences, all mentions of all documents."""
    if answers.dtype != object:
        return bool(answers.nunique() <= 1)
    parts = answers.explode().dropna()  # texts stay as they are
    return bool(parts.map(lambda one: tuple(one) if np.ndim(one) else one).nunique() <= 1)


def one_label(results: Results, table: Table) -> Iterator[str]:
    """A sentence on the splits whose examples all have the same label."""
    found = [f"{task} ({split})" for task, split in constant_labels(results, table)]
    if found:
        yield (
            f"All examples of {', '.join(found)} have the same label: constant predictions are "
            "right, so the column does not distinguish the arms."
        )


def constant_predictions(results: Results, table: Table) -> Iterator[str]:
    """A sentence on the runs with constant predictions where these are not right."""
    right = {task for task, _ in constant_labels(results, table)}
    wrong = [
        (arm, task)
        for arm, task, _ in constant_runs(results, table)
        if task not in right and not guesses(results, arm)
    ]
    if wrong:
        yield (
            "Runs that predict the same for every example and therefore did not learn the task: "
            f"{_counted(pd.DataFrame(wrong, columns=['arm', 'task']))}."
        )


def truncated(results: Results) -> Iterator[str]:
    """A sentence on the tasks with train examples above the maximum length."""
    known = results.get(finetune_runs_frame).dropna(subset="truncated")
    shares = known.groupby(["task", "arm"], sort=False)["truncated"].mean()
    parts = [_spread(str(task), share) for task, share in shares.groupby(level=0, sort=False)]
    if named := [part for part in parts if part]:
        yield (
            "Train examples that reach the protocol's maximum length, nearly all of them "
            f"truncated: {', '.join(named)}."
        )


def _spread(task: str, shares: "pd.Series[float]") -> str:
    """`rte 3 %`, or `rte 3 to 5 %` if arms differ; empty up to FEW_TRUNCATED."""
    read = shares[shares > 0]  # baselines have no maximum length
    if read.empty or read.max() <= FEW_TRUNCATED:
        return ""
    low, high = (f"{100 * share:.0f}" for share in (read.min(), read.max()))
    return f"{task} {high} %" if low == high else f"{task} {low} to {high} %"


def diverged(results: Results) -> Iterator[str]:
    """Sentences on runs and trials whose loss became NaN or infinite."""
    runs = results.get(finetune_runs_frame)
    runs = runs[runs["diverged"]]
    if len(runs):
        yield f"Diverged runs, included with their scores: {_counted(runs)}."
    trials = results.get(trials_frame)
    trials = trials[trials["state"] == "diverged"]
    if len(trials):
        yield f"Diverged trials, which count as the worst: {_counted(trials)}."


def _counted(rows: pd.DataFrame) -> str:
    """`bert on rte (2), gpt2 on cola (1)`"""
    found = Counter(zip(rows["arm"], rows["task"], strict=True))
    return ", ".join(f"{arm} on {task} ({count})" for (arm, task), count in found.items())


def excluded_seeds(results: Results) -> Iterator[str]:
    """A sentence on each pretraining seed that only some tasks of an arm have."""
    scored = results.get(scores_frame).dropna(subset="value")
    for arm in results.arms:
        by_task = scored[scored["arm"] == arm].groupby("task")["pretrain_seed"].agg(set)
        everywhere = set.intersection(*by_task) if len(by_task) else set()
        somewhere: set[int] = set().union(*by_task)
        for seed in sorted(somewhere - everywhere):
            tasks = [str(task) for task, seeds in by_task.items() if seed not in seeds]
            yield (
                f"Pretraining seed {seed} of {arm} is excluded from differences in the average, "
                f"because it has no score on {_listed(tasks)}."
            )
    yield from _unequal_seeds(results, scored)


def _unequal_seeds(results: Results, scored: pd.DataFrame) -> Iterator[str]:
    counts = scored.groupby("arm")["pretrain_seed"].nunique()
    able = [arm for arm in results.arms if arm in set(results.get(finetune_runs_frame)["arm"])]
    seeds = {arm: int(counts.get(arm, 0)) for arm in able}
    if len(set(seeds.values())) > 1:
        most = max(seeds.values())
        named = ", ".join(f"{arm} {count}" for arm, count in seeds.items() if count < most)
        yield f"Arms with fewer pretraining seeds than the {most} of others: {named}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
