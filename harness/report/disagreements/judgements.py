"""The majority answer of an arm's seeds, whether it is right, and how far two arms disagree."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.tasks.examples import clusters
from harness.tasks.metrics.spans import exact, normalise
from harness.tasks.task import Task

VALUES = ("regression", "similarity")
"""Kinds of tasks with numeric targets: answers have an error, but are not right or wrong."""
TEXTS = ("extraction", "generation")
BOTH_WRONG = 0.001
"""Disagreement of two different answers that are right equally often: small but not zero."""


def judged(
    task: Task, labels: Sequence[Any], given: Sequence[Sequence[Any]]
) -> tuple[np.ndarray, list[Any]]:
    """Share of the seeds that are right and the majority answer, null in a tie; for numeric targets
    the mean absolute error and the mean answer.

    Args:
        labels: the gold label of each example.
        given: the answers of all seeds to each example.

    Returns:
        Shares or errors [num_examples], and as many answers.
    """
    if task.kind in VALUES:
        values = np.array(given, dtype=np.float64)
        errors = np.abs(values - np.array(labels, dtype=np.float64)[:, None]).mean(1)
        return errors, list(values.mean(1))
    shares = [
        [right(task, label, one) for one in row] for label, row in zip(labels, given, strict=True)
    ]
    return np.array(shares, dtype=np.float64).mean(1), [majority(task, row) for row in given]


def majority(task: Task, answers: Sequence[Any]) -> Any:
    """The answer with more seeds than any other; null in a tie. Texts that are equal after SQuAD's
    normalisation count as one answer."""
    first, *others = _most_given(task, answers)
    return None if others else first


def is_tied(task: Task, label: Any, answers: Sequence[Any]) -> bool:
    """Whether a right answer ties with others for the most seeds, so that the majority is neither
    right nor wrong."""
    most = _most_given(task, answers)
    return len(most) > 1 and any(right(task, label, one) for one in most)


def _most_given(task: Task, answers: Sequence[Any]) -> list[Any]:
    """The answers that no other has more seeds than."""
    names = [json.dumps(_compared(task, one)) for one in answers]
    counts = Counter(names)
    return [answers[names.index(name)] for name in counts if counts[name] == max(counts.values())]


def right(task: Task, label: Any, answer: Any) -> bool:
    """Whether an answer is right; a tie (null) is not."""
    if answer is None:
        return False
    if task.kind == "retrieval":
        return bool(label > 0) and not any(answer)  # nothing before it, or in the same place
    if task.kind not in TEXTS:
        return bool(_compared(task, label) == _compared(task, answer))
    texts = label if isinstance(label, list) else [label]
    if not texts:
        return not str(answer).strip()
    return any(exact(str(answer), str(text)) for text in texts)


def disagreement(
    task: Task, shares: Sequence[np.ndarray], answers: Sequence[Sequence[Any]]
) -> np.ndarray:
    """Absolute difference in the share of seeds that are right, and BOTH_WRONG if that is zero but
    the answers differ; for numeric targets the absolute difference of the mean answers.

    Args:
        shares: of both arms, from `judged`: each [num_examples].
        answers: of both arms, from `judged`.

    Returns:
        [num_examples]
    """
    if task.kind in VALUES:
        return np.abs(np.array(answers[0]) - np.array(answers[1]))
    first, second = ([_compared(task, one) for one in side] for side in answers)
    other = np.array([a != b for a, b in zip(first, second, strict=True)])
    gap: np.ndarray = np.abs(shares[0] - shares[1])
    return np.where(other & (gap == 0), BOTH_WRONG, gap)


def _compared(task: Task, answer: Any) -> Any:
    if task.kind == "coreference" and answer is not None:
        return clusters(answer)
    return normalise(answer) if task.kind in TEXTS and isinstance(answer, str) else answer
