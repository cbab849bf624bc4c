"""F1 of the arguments of predicates, as in the CoNLL-2005 shared task (Carreras and Màrquez 2005).

Labels and predictions are those of tagging, one example for each predicate. The official script,
srl-eval.pl, is a program in Perl; its rules are these:

- an argument is correct if its label and all of its words are;
- a span C-A1 continues the last A1, and both together are one argument; without an A1 it is one;
- the predicate, V, does not count.
"""

import numpy as np

from harness.tasks.metrics.metric import Array, Groups, Names, counted_metric, f_score
from harness.tasks.metrics.tagging import named

PREDICATE, CONTINUED = "V", "C-"
Argument = tuple[str, tuple[tuple[int, int], ...]]
"""Label, and the first and last word of each span."""


def argument_f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: correct arguments; predicted plus true arguments."""
    counts = np.zeros((len(labels), 2))
    sides = named(labels, predictions, names)
    for row, (true, predicted) in enumerate(zip(*sides, strict=True)):
        gold, found = arguments(true), arguments(predicted)
        counts[row] = len(gold & found), len(gold) + len(found)
    return counts


def arguments(tags: list[str]) -> set[Argument]:
    """The arguments of the predicate of one sentence, from its IOB2 tags. A span may begin with I-,
    as in `entity_f1`."""
    from seqeval.metrics.sequence_labeling import get_entities

    found: list[tuple[str, list[tuple[int, int]]]] = []
    last: dict[str, list[tuple[int, int]]] = {}
    for kind, start, end in get_entities(tags):
        label = kind.removeprefix(CONTINUED)
        if kind.startswith(CONTINUED) and label in last:
            last[label].append((start, end))
            continue
        last[label] = [(start, end)]
        found.append((label, last[label]))
    return {(label, tuple(spans)) for label, spans in found if label != PREDICATE}


ROLE_METRICS = (
    counted_metric(
        "argument_f1",
        argument_f1_counts,
        f_score,
        note="as srl-eval.pl of CoNLL-2005: labelled spans, continued ones joined, without V",
    ),
)
