"""Examples of the tasks, and the answers of an oracle.

Train and evaluation sets use different open words: the vocabulary of the dev sets occurs only in
the pretraining corpus.
"""

from collections.abc import Callable

from harness.data.microworld.generators import OTHERS
from harness.data.microworld.glue import GLUE
from harness.data.microworld.labelled import Labelled, Rows, check
from harness.data.microworld.superglue import SUPERGLUE

LABELLED: dict[str, Labelled] = {data_set.name: data_set for data_set in (*GLUE, *SUPERGLUE)}
"""Generators of classification, regression and multiple-choice data."""

GENERATORS: dict[str, Callable[[str, int], Rows]] = {**LABELLED, **OTHERS}
"""Generator to a function of a split and the seed of a world that returns columns."""


def examples(generator: str, split: str, world: int = 0) -> Rows:
    """The columns of a data set, determined by the three arguments.

    Args:
        generator: name in `GENERATORS`.
        split: `train`, `validation` or another split of the data set.
        world: seed of the world.

    Raises:
        ValueError: an unknown generator or split.
    """
    check("generator", generator, tuple(GENERATORS))
    return GENERATORS[generator](split, world)


def oracle(generator: str, split: str, world: int = 0) -> list[int]:
    """The answers without label noise: predictions with perfect knowledge of the world.

    Raises:
        ValueError: a generator that is not in `LABELLED`, or an unknown split.
    """
    check("generator", generator, tuple(LABELLED))
    return LABELLED[generator].answers(split, world)
