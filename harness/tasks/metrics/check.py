"""Whether a metric can score a task, tried on made-up answers before a run."""

from collections.abc import Iterator
from typing import Any, SupportsFloat

import numpy as np

from harness.core.errors import MemberError
from harness.tasks.examples import Answers, column
from harness.tasks.metrics.metric import Array, Groups, Metric
from harness.tasks.task import Kind, Task

NUM_EXAMPLES = 6
TEXTS = ("one", "two words", "three more words", "four", "five or six", "the last text")
"""Answers of NUM_EXAMPLES examples."""


def check_metric(metric: Metric, task: Task) -> None:
    """Scores the correct answers of NUM_EXAMPLES made-up examples, and wrong ones.

    Raises:
        MemberError: a score is no number in the range of the metric, correct answers score lower
            than wrong ones, or the counts do not give the score.
        Exception: whatever the metric raises.
    """
    labels, correct = made_up_answers(task.kind, max(2, len(task.labels)))
    groups = np.array(list("aabbcc"), dtype=object) if task.has_groups else None
    answers = correct, column(list(correct)[::-1])
    problems = _problems(metric, labels, answers, groups, task.labels)
    if problem := next(problems, None):
        functions = metric.function, metric.counts, metric.from_counts
        raise MemberError(f"the metric {metric.name!r} must {problem}", *functions)


def made_up_answers(kind: Kind, num_classes: int) -> tuple[Array, Array]:
    """[NUM_EXAMPLES] labels as of `Examples`, and [NUM_EXAMPLES] predictions that are correct."""
    if kind == "retrieval":
        places = [(place, 0) for place in range(NUM_EXAMPLES)]
        return np.repeat([1.0, 0.0], NUM_EXAMPLES // 2), column(places)
    if kind in ("regression", "similarity"):
        values = np.linspace(0, 1, NUM_EXAMPLES)
        return values, values.copy()
    if kind in ("extraction", "generation"):
        texts: list[Any] = [(text,) for text in TEXTS]
        answers = [Answers(text, (0,)) for text in texts] if kind == "extraction" else texts
        return column(answers), column(TEXTS)
    if kind == "coreference":
        mentions = [((0, 0, 0), (0, n, n), (1, n + 1, n + 2)) for n in range(1, NUM_EXAMPLES + 1)]
        return column(mentions), column(mentions)
    classes = np.arange(NUM_EXAMPLES) % num_classes
    if kind == "tagging":
        tags = [[int(one), int(classes[0])] for one in classes]
        return column([tuple(one) for one in tags]), column(tags)
    return classes, classes.copy()


def _problems(
    metric: Metric, labels: Array, answers: tuple[Array, Array], groups: Groups, names: Any
) -> Iterator[str]:
    scores = []
    for predictions in answers:
        score = metric(labels, predictions, groups, names)
        if np.ndim(score) or not isinstance(score, SupportsFloat):
            yield f"return a number, but returned {type(score).__name__}"
            return
        scores.append(float(score))
        if not np.isnan(scores[-1]) and not metric.least - 1e-9 <= score <= 1 + 1e-9:
            yield f"return a score from {metric.least:g} (its least) to 1, but returned {score:g}"
        yield from _count_problems(metric, scores[-1], (labels, predictions, groups, names))
    if np.isnan(scores[0]):
        yield "return a number for correct predictions, but returned nan"
    if scores[0] < scores[1]:
        yield (
            f"be higher for better predictions, but is {scores[0]:g} for correct ones and "
            f"{scores[1]:g} for wrong ones"
        )


def _count_problems(metric: Metric, score: float, columns: Any) -> Iterator[str]:
    counts = np.asarray(metric.counts(*columns))
    if counts.ndim != 2:
        yield f"have counts [num_units, k], but they are {list(counts.shape)}"
        return
    labels, _, groups, _ = columns
    units = {len(labels)} if groups is None else {len(labels), len(set(groups))}
    if len(counts) not in units:
        yield (
            f"have counts [num_units, k], a row for each example or group, but of {len(labels)} "
            f"examples they are {list(counts.shape)}"
        )
    total = counts.sum(axis=0)
    found = np.asarray(metric.from_counts(np.stack([total, total])))
    if found.shape != (2,):
        yield f"have from_counts from [2, k] to [2], but it returned {list(found.shape)}"
    elif not np.isnan(score) and not np.allclose(found, score):
        yield f"have counts that give the score {score:g}, but from_counts gave {found[0]:g}"
