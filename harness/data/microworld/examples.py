"""Examples of the tasks, and the answers that an oracle would give.

Train and evaluation sets use different open words of the world, so that a dev set asks about words
that only the corpus explains.
"""

from collections.abc import Callable

from harness.data.microworld.generators import OTHERS
from harness.data.microworld.glue import GLUE
from harness.data.microworld.labelled import Labelled, Rows, check
from harness.data.microworld.superglue import SUPERGLUE

LABELLED: dict[str, Labelled] = {maker.name: maker for maker in (*GLUE, *SUPERGLUE)}
"""Tasks of classes, scores and choices."""

GENERATORS: dict[str, Callable[[str, int], Rows]] = {**LABELLED, **OTHERS}
"""Name to what makes the columns of a split (of a world with this seed)."""


def examples(generator: str, split: str, world: int = 0) -> Rows:
    """Examples of a task, a function of the three arguments alone.

    Args:
        generator: Name in `GENERATORS`.
        split: `train` or `validation`, or as the task calls its splits.
        world: Seed of the world.

    Returns:
        The columns that the task names, `label` among them.

    Raises:
        ValueError: an unknown generator or split.
    """
    check("generator", generator, tuple(GENERATORS))
    return GENERATORS[generator](split, world)


def oracle(generator: str, split: str, world: int = 0) -> list[int]:
    """Predictions of one who knows the world: only the noise of the labels keeps it below 100.

    Raises:
        ValueError: the generator is none of `LABELLED`, or the split is unknown.
    """
    check("generator", generator, tuple(LABELLED))
    return LABELLED[generator].answers(split, world)
