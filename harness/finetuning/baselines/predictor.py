"""The types of baselines: a maker turns a train set into a predictor."""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.tasks.examples import Examples
from harness.tasks.task import Task

Predictor = Callable[[Examples], np.ndarray]
"""Examples to predictions [num_examples]: float64 classes, choices or values, or objects (texts,
tuples of tag indices)."""

Maker = Callable[[Task, Any], Predictor]
"""(task, train set) to a predictor; deterministic. Only makers in UNTRAINED take null for a train
set."""
