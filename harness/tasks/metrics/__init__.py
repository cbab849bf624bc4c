"""Metrics of the tasks: labels and predictions in, one number out.

Class -1 among predictions is an answer that is no class: it is wrong everywhere, and no positive
one. Degenerate input has a fixed answer, so that no run fails on it. With nothing to divide by, F1
is 0 and so is the Matthews correlation (constant predictions); BLEU and ROUGE of an empty text are
0. A correlation with a constant is NaN, which tables show as null; of a resample, by `from_counts`,
it is 0, because an interval needs a value for every resample.
"""

from harness.tasks.metrics.classification import CLASS_METRICS
from harness.tasks.metrics.generation import TEXT_METRICS
from harness.tasks.metrics.groups import GROUP_METRICS
from harness.tasks.metrics.metric import Metric
from harness.tasks.metrics.regression import VALUE_METRICS
from harness.tasks.metrics.retrieval import RANK_METRICS
from harness.tasks.metrics.spans import SPAN_METRICS
from harness.tasks.metrics.tagging import TAG_METRICS

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *CLASS_METRICS,
        *VALUE_METRICS,
        *SPAN_METRICS,
        *TAG_METRICS,
        *TEXT_METRICS,
        *GROUP_METRICS,
        *RANK_METRICS,
    )
}
