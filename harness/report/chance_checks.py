"""Arms whose scores may be due to chance, or are not above those of an untrained network."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from harness.analysis.comparison.differences import AVERAGE, Compared, Comparer
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.core.rounding import one_decimal
from harness.data.microworld.examples import WORDS_OF_CORPUS
from harness.leaderboard.table import Table
from harness.models import is_baseline
from harness.report.difference_tables import interval, points
from harness.report.run_checks import ZERO_BY_CHANCE, chance, guesses
from harness.tasks.custom import tasks_of
from harness.tasks.task import Column, MicroworldData

UNTRAINED = "an untrained network"
OF_LABELS = defaultdict[str, tuple[str, ...]](
    tuple,
    classification=("accuracy", "micro_f1", "macro_f1", "f1"),
    tagging=("accuracy_tags",),
)
"""Kind of task to the metrics whose best guess follows from the labels."""


def chance_levels(results: Results, table: Table) -> dict[str, float]:
    """Column to the score x 100 of the best guess: as declared by the task, else 0 of correlations,
    and of the metrics in OF_LABELS what the labels say; without columns of other metrics."""
    found = chance(table)
    tasks = tasks_of(results.suite)
    for column in table.columns:
        if column.name in found or len(column.metrics) > 1:
            continue
        (metric,), task = column.metrics, tasks[column.task]
        if metric in ZERO_BY_CHANCE:
            found[column.name] = 0.0
        elif metric in OF_LABELS[task.kind] and (labels := _labels(results, column)):
            found[column.name] = 100 * best_guess(metric, labels, len(task.labels))
    return found


def best_guess(metric: str, labels: Sequence[object], num_classes: int) -> float:
    """What the best predictions that ignore the input score, from 0 to 1.

    Of macro F1, these are guesses as frequent as the labels: the expected F1 of a class is then its
    share, and no other guesses have a higher mean, 1 / `num_classes`.
    """
    counts = Counter(labels)
    if metric == "macro_f1":
        return 1 / num_classes
    if metric == "f1":  # of class 1, which is predicted for all
        return 2 * counts[1] / (len(labels) + counts[1])
    return max(counts.values()) / len(labels)


def _labels(results: Results, column: Column) -> list[object]:
    """The labels of a column's examples, of tagging those of its words; empty if no run is
    finished."""
    for run in results.finetune_runs:
        if run.task == column.task and run.key in results.finished:
            rows = results.predictions(run.key)
            labels = rows[rows["split"] == column.split]["label"]
            is_tagging = tasks_of(results.suite)[run.task].kind == "tagging"
            return list(chain.from_iterable(labels) if is_tagging else labels)
    return []


def near_chance(results: Results, table: Table, compared: Comparer) -> Iterator[str]:
    """A sentence on the columns in which no arm, and those in which some arms, are not
    significantly above chance."""
    levels = chance_levels(results, table)
    arms = [arm for arm in results.arms if not guesses(results, arm)]
    of_all, of_some = [], []
    for column in table.columns:
        if (level := levels.get(column.name)) is None:
            continue
        outcome = compared.outcomes[column.name]
        found = {arm: outcome.above(arm, level) for arm in arms}
        measured = {arm: one for arm, one in found.items() if one}
        low = {arm: one for arm, one in measured.items() if one.low <= 0}
        if low and len(low) == len(measured):
            of_all.append(f"{column.name} ({one_decimal(level)}; {_listed(low, level)})")
        elif low:
            of_some.append(f"{column.name} ({one_decimal(level)}; {_listed(low, level)})")
    if of_all:
        yield f"No arm is significantly above chance on {', '.join(of_all)}."
    if of_some:
        yield f"Some arms are not significantly above chance on {', '.join(of_some)}."


def _listed(found: dict[str, Difference], level: float) -> str:
    return ", ".join(f"{arm} {one_decimal(level + one.estimate)}" for arm, one in found.items())


def near_controls(results: Results, compared: Compared) -> Iterator[str]:
    """A sentence on each untrained network and baseline that some trained arms do not exceed
    significantly in the average."""
    known = controls(results)
    trained = [arm for arm in results.arms if arm not in known]
    for control, kind in known.items():
        found = {arm: compared(arm, control)[AVERAGE] for arm in trained}
        low = [f"{arm} ({_shown(one)})" for arm, one in found.items() if one and one.low <= 0]
        if low:
            yield (
                f"Not significantly above {control}, {kind}, in the average: {', '.join(low)}; "
                "differences in points with 95 % intervals."
            )


def _shown(found: Difference) -> str:
    return f"{points(found.estimate)}, {interval(found)}"


def unknown_words(results: Results) -> Iterator[str]:
    """A sentence on untrained networks whose evaluation sets have words that no label teaches."""
    untrained = [arm for arm, kind in controls(results).items() if kind == UNTRAINED]
    sources = [task.data for task in tasks_of(results.suite).values()]
    if untrained and any(
        isinstance(of, MicroworldData) and of.generator in WORDS_OF_CORPUS for of in sources
    ):
        yield (
            "By design, the nouns, names and most adjectives of the micro-world's evaluation sets "
            "are in no train set, only in the text for pretraining: without it "
            f"({', '.join(untrained)}), labels cannot teach them, however many. What others gain "
            "over that says nothing of tasks whose train and evaluation sets share their words."
        )


def controls(results: Results) -> dict[str, str]:
    """Arm without pretraining to what it is. One that learns other tasks first, as not all arms do,
    is trained."""
    taught = results.plan.differences.get("evaluate.intermediate_tasks", {})
    found = {}
    for arm in results.plan.arms:
        run = arm.pretrain
        text = run.init_from or arm.evaluate.continued_pretraining
        started = run.model.checkpoint or text or taught.get(arm.name)
        if is_baseline(run.model.family):
            found[arm.name] = "a baseline"
        elif run.budget.is_zero and not started:
            found[arm.name] = UNTRAINED
    return found
