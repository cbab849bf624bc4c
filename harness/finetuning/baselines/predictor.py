"""What a baseline is: of a train set, a function from examples to predictions."""

from collections.abc import Callable

import numpy as np

from harness.tasks.examples import Examples
from harness.tasks.task import Task

Predictor = Callable[[Examples], np.ndarray]
"""Examples to predictions [num_examples]: float64 classes, choices or values, or objects: texts, or
tuples of tag numbers."""

Maker = Callable[[Task, Examples | None], Predictor]
"""Task and train set to a predictor; deterministic."""
