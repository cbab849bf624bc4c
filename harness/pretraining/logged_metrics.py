"""Metrics of the predictions of an update or of held-out text, by torchmetrics."""

from copy import deepcopy
from typing import cast

from torch import Tensor, nn
from torchmetrics import MeanMetric

from harness.pretraining import distributed


class Perplexity(MeanMetric):
    """exp of the mean cross-entropy. torchmetrics' Perplexity takes the logarithm of a softmax,
    which is infinite for a probability below 1e-45."""

    def compute(self) -> Tensor:
        """A scalar []."""
        return super().compute().exp()


def values(metrics: nn.ModuleDict) -> dict[str, float]:
    """Name to value of torchmetrics' metrics, over the predictions of all devices; without those of
    which there are none."""
    every = {name: cast(MeanMetric, metric) for name, metric in metrics.items()}
    own = {name: metric for name, metric in every.items() if metric.update_called}
    if distributed.num_ranks() > 1:
        own = {name: deepcopy(metric).cpu() for name, metric in own.items()}
    first, *others = distributed.gathered(own)
    for other in others:
        for name, metric in other.items():
            if name in first:
                first[name].merge_state(metric)
            else:
                first[name] = metric
    return {name: float(metric.compute()) for name, metric in first.items()}


def taken(metrics: nn.ModuleDict) -> dict[str, float]:
    """The same as `values`; the metrics are reset."""
    found = values(metrics)
    for metric in metrics.values():
        cast(MeanMetric, metric).reset()
    return found
