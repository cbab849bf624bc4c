"""Compares two arms by their results alone, such as an arm with an evaluated checkpoint."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.columns import SuiteColumns
from harness.analysis.comparison.differences import MIN_SEEDS, Comparer
from harness.analysis.comparison.resampling import REPLICATES, arm_runs, cell_name
from harness.analysis.frames.imported_examples import Examples, contents
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Runs
from harness.leaderboard.build import build
from harness.report.disagreements.answers import Flips, flipped_examples
from harness.report.two_arms.arm_comparison import ArmComparison
from harness.report.two_arms.compare import compare_arms, holm_of
from harness.report.two_arms.measured import (
    MeasuredArm,
    is_measured,
    measured_arm,
    of_results,
)
from harness.tasks.custom import suite_named, tasks_of
from harness.tasks.scores import LABELS
from harness.tasks.task import Column, Task

SEEDS_ALONE = "{}: the examples of a run are unknown, so the interval is over seeds alone."
NO_INTERVAL = (
    "{}: no difference, as the examples of a run are unknown, and an arm has one pretraining seed, "
    "or a run without a score."
)
NONE = np.zeros(0)
RunExamples = Mapping[str, Examples]
"""Key of a run to its examples."""
Sides = Mapping[str, MeasuredArm]
"""Name in the comparison to arm."""


def compare(
    first: tuple[Results, str], second: tuple[Results, str], average: str | None = None
) -> ArmComparison:
    """As `compare_arms`; the name of the second arm may also be one for `measured_arm`. Results of
    one experiment that was loaded twice are those of one, whose report has the same figures.

    Raises:
        ValueError: as `compare_arms` or `compare_measured`.
    """
    results, name = second
    if _is_same(first[0], results):
        second = first[0], name
    if name in results.arms or not is_measured(results.store, name):
        return compare_arms(first, second, average)
    return compare_measured(of_results(*first), measured_arm(results.store, name), average)


def _is_same(one: Results, other: Results) -> bool:
    """Whether two results are of the same experiment in the same store."""
    return one.store.root == other.store.root and one.experiment == other.experiment


def compare_measured(
    first: MeasuredArm, second: MeasuredArm, average: str | None = None
) -> ArmComparison:
    """The difference between two arms, the first minus the second. Without the examples of all runs
    of a task, its interval is over seeds alone, and no flipped examples are known.

    Args:
        average: an averaging rule; null means the suite's.

    Raises:
        ValueError: the arms differ in suite, tasks, protocol or examples; or an unknown rule.
    """
    if unlike := [*_unlike(first, second)]:
        raise ValueError(
            f"{first.label} and {second.label} are not comparable: {'; '.join(unlike)}"
        )
    sides = _named(first, second)
    suite = first.suite or second.suite or suite_named(first.suite_name)
    scores = pd.concat([_scores(*one) for one in sides.items()], ignore_index=True)
    table = build(scores, suite, average, tasks=first.tasks, arms=tuple(sides))
    examples = {task: _examples(sides, scores, task) for task in first.tasks}
    runs = _runs(sides, scores, table.layout, examples)
    one, other = sides
    found = Comparer(runs, table.layout, lambda *_: False)(one, other)
    return ArmComparison(
        (one, other),
        table,
        found,
        holm_of(found),
        dict(_flips(sides, scores, tasks_of(suite), examples)),
        None,
        labels=(first.label, second.label),
        notes=tuple(_notes(runs[one], examples)),
    )


def _unlike(first: MeasuredArm, second: MeasuredArm) -> Iterator[str]:
    """What differs in suite, tasks and protocol, as text."""
    if first.suite_name != second.suite_name:
        yield f"suite is {first.suite_name} and {second.suite_name}"
    elif first.tasks != second.tasks:
        yield f"tasks with scores are {', '.join(first.tasks)} and {', '.join(second.tasks)}"
    one, other = (_protocol(side) for side in (first, second))
    searched = "sweep.trials" in one.keys() & other.keys()
    for path in dict.fromkeys((*one, *other)):
        is_part = path.startswith("sweep.") and path != "sweep.trials"  # of a search of one side
        if one.get(path) != other.get(path) and (searched or not is_part):
            yield f"{path} is {one.get(path, 'not set')} and {other.get(path, 'not set')}"


def _protocol(side: MeasuredArm) -> dict[str, Any]:
    """Dotted path in an experiment to the value of each setting of the protocol."""
    parts = json.loads(side.protocol)
    search = {"sweep": parts.pop("sweep")} if "sweep" in parts else {}
    return dict(_flat({"evaluate": parts, **search}))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _flat(part, f"{path}.{name}".lstrip("."))
    else:
        yield path, value


def _named(first: MeasuredArm, second: MeasuredArm) -> Sides:
    """The arms by the shortest names that differ."""
    sides = (first, second)
    for names in ([s.arm for s in sides], [s.experiment for s in sides]):
        if len(set(names)) == 2:
            return dict(zip(names, sides, strict=True))
    if first.source == second.source:
        raise ValueError(f"two different arms must be given, not {first.label} twice")
    return {f"{side.arm} ({side.source or 'measured here'})": side for side in sides}


def _scores(name: str, side: MeasuredArm) -> pd.DataFrame:
    """Its scores, with keys that differ between the arms."""
    return side.scores.assign(arm=name, experiment="", key=f"{name}/" + side.scores["key"])


def _examples(sides: Sides, scores: pd.DataFrame, task: str) -> RunExamples | None:
    """Run to its examples, of both arms; null if those of a run are unknown.

    Raises:
        ValueError: two runs were scored on different examples.
    """
    found: dict[str, Examples] = {}
    known: dict[str, Any] = {}
    runs: Any = scores[scores["task"] == task].groupby(["arm", "key"])
    for (name, key), rows in runs:
        examples = sides[name].examples(key.removeprefix(f"{name}/"))
        cells = {cell_name(*cell) for cell in zip(rows["split"], rows["metric"], strict=True)}
        if examples is None or not cells <= examples[1].keys():
            return None
        frame, counts = examples
        for split, content in contents(examples).items():
            if known.setdefault(split, content) != content:
                raise ValueError(f"{' and '.join(sides)}: the examples of {task} {split} differ")
        checked = {cell_name(split, LABELS): NONE for split in known}
        found[key] = frame, {**counts, **checked}
    return found


def _runs(
    sides: Sides,
    scores: pd.DataFrame,
    layout: SuiteColumns,
    examples: Mapping[str, RunExamples | None],
) -> dict[str, dict[str, Runs]]:
    """Arm to task to its runs, resampled where examples are known; without tasks that have neither
    examples nor pretraining seeds of which to take the variation."""
    counts = {key: one[1] for of in examples.values() for key, one in (of or {}).items()}
    with_examples = scores["task"].isin([task for task, of in examples.items() if of])
    runs = arm_runs(tuple(sides), scores[with_examples], counts.__getitem__, layout)
    for task in (task for task, of in examples.items() if not of):
        own = scores[scores["task"] == task]
        columns = [column for column in layout.columns if column.task == task]
        found = {name: _as_measured(own[own["arm"] == name], columns) for name in sides}
        if all(len(set(one.pretrain_seeds)) >= MIN_SEEDS for one in found.values()):
            for name, one in found.items():
                runs[name][task] = one
    return runs


def _as_measured(scores: pd.DataFrame, columns: Sequence[Column]) -> Runs:
    """The runs of an arm on a task, with the same scores in every replicate; none if one of them
    lacks a score, as in `arm_runs`."""
    cells = [cell_name(column.split, metric) for column in columns for metric in column.metrics]
    named = scores.assign(cell=scores["split"] + "/" + scores["metric"])
    table = named.pivot(index=["pretrain_seed", "finetune_seed"], columns="cell", values="value")
    table = table.reindex(columns=cells)
    table = table.iloc[: 0 if table.isna().any(axis=None) else None].reset_index()
    return Runs(
        pretrain_seeds=table["pretrain_seed"].to_numpy(),
        finetune_seeds=table["finetune_seed"].to_numpy(),
        scores={cell: np.tile(table[cell].to_numpy(float), (1 + REPLICATES, 1)) for cell in cells},
    )


def _flips(
    sides: Sides,
    scores: pd.DataFrame,
    tasks: Mapping[str, Task],
    examples: Mapping[str, RunExamples | None],
) -> Iterator[tuple[tuple[str, str], Flips]]:
    """Flipped examples of the tasks whose examples are known."""
    columns = ["arm", "task", "key", "pretrain_seed", "finetune_seed"]
    for task, found in ((task, of) for task, of in examples.items() if of):
        frames: dict[str, list[pd.DataFrame]] = {name: [] for name in sides}
        runs = scores.loc[scores["task"] == task, columns].drop_duplicates()
        for name, _, key, pretrain, finetune in runs.itertuples(index=False):
            frames[name].append(found[key][0].assign(run=f"{pretrain}.{finetune}"))
        whole = {name: pd.concat(of, ignore_index=True) for name, of in frames.items()}
        for split, flips in flipped_examples(tasks[task], whole).items():
            yield (task, split), flips


def _notes(runs: Mapping[str, Runs], examples: Mapping[str, RunExamples | None]) -> Iterator[str]:
    """On the tasks whose examples are unknown."""
    for task, found in examples.items():
        if not found:
            yield (SEEDS_ALONE if task in runs else NO_INTERVAL).format(task)
