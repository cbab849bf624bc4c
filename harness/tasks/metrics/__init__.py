"""Metrics of the tasks: labels and predictions in, one number out.

A predicted class of -1 stands for an output that matches no class: it counts as an error and never
as positive. Degenerate input has a defined score, so that no run fails on it: F1 without positives
and the Matthews correlation of constant predictions are 0, and so are BLEU and ROUGE of an empty
text. The correlation with a constant is NaN, which tables show as null; for a resample it is 0
(`from_counts`), because an interval needs a value for every resample.
"""

from harness.tasks.metrics.classification import CLASS_METRICS
from harness.tasks.metrics.coreference import COREFERENCE_METRICS
from harness.tasks.metrics.generation import TEXT_METRICS
from harness.tasks.metrics.metric import Metric
from harness.tasks.metrics.regression import VALUE_METRICS
from harness.tasks.metrics.retrieval import RANK_METRICS
from harness.tasks.metrics.roles import ROLE_METRICS
from harness.tasks.metrics.spans import SPAN_METRICS
from harness.tasks.metrics.tagging import TAG_METRICS

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *CLASS_METRICS,
        *VALUE_METRICS,
        *SPAN_METRICS,
        *TAG_METRICS,
        *ROLE_METRICS,
        *COREFERENCE_METRICS,
        *TEXT_METRICS,
        *RANK_METRICS,
    )
}
