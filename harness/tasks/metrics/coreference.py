"""Coreference: MUC, B-cubed, CEAF with the similarity of entities, and their mean, the score of the
CoNLL-2012 shared task (Pradhan et al. 2012; 2014, section 4, with examples).

One example is a document. Its labels and predictions are mentions (`Mention`), or, where tags have
names, those of tagging: a span of the tag B-3, I-3 is a mention of the entity 3. Only what is in
one entity matters, not its number. Mentions need not be the same on both sides, and entities of one
mention count, as in the reference scorer.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from harness.tasks.examples import clusters
from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    counted_metric,
    divide,
)
from harness.tasks.metrics.tagging import named

Span = tuple[int, int]
"""First and last word of a mention."""
Entities = list[set[Span]]
Measure = Callable[[Entities, Entities], tuple[float, float]]
"""From the entities of one side and of the other to the numerator and denominator of the recall of
the first side, or the precision of the second."""


def entities(tags: Sequence[str]) -> Entities:
    """The mentions of each entity of one document, in the order of the first ones."""
    from seqeval.metrics.sequence_labeling import get_entities

    return list(map(set, clusters(get_entities(list(tags)))))


def _of_documents(labels: Array, predictions: Array, names: Names) -> Iterator[list[Entities]]:
    """True and predicted entities of each document.

    Raises:
        ValueError: labels are neither mentions nor tags with names.
    """
    if names:
        for row in zip(*named(labels, predictions, names), strict=True):
            yield [entities(tags) for tags in row]
        return
    for row in zip(labels, predictions, strict=True):
        if any(np.shape(mention) != (3,) for side in row for mention in side):
            raise ValueError(
                "metrics of coreference need mentions (entity, first word, last word), or tags and "
                "their names"
            )
        yield [list(map(set, clusters(side))) for side in row]


def muc(these: Entities, others: Entities) -> tuple[float, float]:
    """Links of `these` that remain when each entity is divided as `others` divide it, and all links
    (Vilain et al. 1995): size minus parts, and size minus one, summed over entities."""
    owner = {mention: number for number, entity in enumerate(others) for mention in entity}
    parts = [len({owner.get(mention, mention) for mention in entity}) for entity in these]
    sizes = [len(entity) for entity in these]
    return float(sum(sizes) - sum(parts)), float(sum(sizes) - len(sizes))


def b_cubed(these: Entities, others: Entities) -> tuple[float, float]:
    """The share of the entity of each mention that its entity on the other side has, summed over
    mentions, and their number (Bagga and Baldwin 1998)."""
    shares = [len(one & other) ** 2 / len(one) for one in these for other in others]
    return float(sum(shares)), float(sum(map(len, these)))


def ceaf_e(these: Entities, others: Entities) -> tuple[float, float]:
    """Similarity of the entities in the best one-to-one alignment, and the number of `these` (Luo
    2005, equations 9 to 11 with its similarity phi 4, the F1 of two sets of mentions)."""
    from scipy.optimize import linear_sum_assignment

    phi = np.array(
        [[2 * len(one & other) / (len(one) + len(other)) for other in others] for one in these]
    ).reshape(len(these), len(others))
    best = linear_sum_assignment(phi, maximize=True)
    return float(phi[best].sum()), float(len(these))


MEASURES: dict[str, Measure] = {"muc": muc, "b_cubed": b_cubed, "ceaf_e": ceaf_e}
"""The measures of the CoNLL score."""


def coreference_counts(
    labels: Array,
    predictions: Array,
    groups: Groups,
    names: Names,
    measures: Sequence[Measure] = tuple(MEASURES.values()),
) -> Array:
    """[num_examples, 4 * num_measures]: of each measure, numerator and denominator of recall, then
    of precision."""
    counts = np.zeros((len(labels), 4 * len(measures)))
    for row, (gold, found) in enumerate(_of_documents(labels, predictions, names)):
        parts = [part for one in measures for part in (*one(gold, found), *one(found, gold))]
        counts[row] = parts
    return counts


def mean_f1(sums: Array) -> Array:
    """[...] mean over measures of the F1 of sums of counts [..., 4 * num_measures]; 0 where a
    measure has nothing in common."""
    parts = sums.reshape(*sums.shape[:-1], -1, 4)
    recall = divide(parts[..., 0], parts[..., 1])
    precision = divide(parts[..., 2], parts[..., 3])
    scores: Array = divide(2 * precision * recall, precision + recall).mean(-1)
    return scores


COREFERENCE_METRICS: tuple[Metric, ...] = (
    counted_metric(
        "coref_f1",
        coreference_counts,
        mean_f1,
        note="mean F1 of MUC, B-cubed and CEAF-e, as in CoNLL-2012",
    ),
    *(
        counted_metric(name, partial(coreference_counts, measures=(measure,)), mean_f1, note="F1")
        for name, measure in MEASURES.items()
    ),
)
