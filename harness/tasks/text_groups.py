"""Groups of examples that share texts."""

import numpy as np

from harness.tasks.examples import Examples

OF_PARTS = ("tagging", "coreference")
"""Kinds of tasks whose texts are the words or sentences of one text."""


def text_groups(examples: Examples, kind: str) -> np.ndarray:
    """[num_examples] the number of each example's group: examples that share a text up to case and
    space, or a group of the task, are in one group, and so are those that others connect. Empty
    texts are not shared.

    Args:
        kind: of the task.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[tuple[str, str], int] = {}
    ends = []
    for row, texts in enumerate(examples.texts):
        whole = [" ".join(texts)] if kind in OF_PARTS else texts
        words = [" ".join(text.lower().split()) for text in whole]
        ends += [(row, ("text", text)) for text in words if text]
        if examples.groups is not None:
            ends.append((row, ("group", str(examples.groups[row]))))
    rows = np.array([row for row, _ in ends], dtype=np.int64)
    columns = np.array([numbers.setdefault(node, len(numbers)) for _, node in ends], dtype=np.int64)
    size = len(examples) + len(numbers)
    edges = csr_array((np.ones(len(ends)), (rows, len(examples) + columns)), shape=(size, size))
    _, found = connected_components(edges, directed=False)
    return np.asarray(found[: len(examples)])
