"""Parameter counts without building a network; tied matrices count once."""

from harness.models.counts.backbones import count_parameters
from harness.models.counts.heads import count_replaced_head, count_trained_parameters
from harness.models.counts.shapes import position_buckets, position_rows, segment_types

__all__ = [
    "count_parameters",
    "count_replaced_head",
    "count_trained_parameters",
    "position_buckets",
    "position_rows",
    "segment_types",
]
