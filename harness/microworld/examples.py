"""Labelled examples of the tasks, and the answers that an oracle would give.

Train and validation sets use different open words of the world, so that a dev set asks about words
that only the corpus explains.
"""

from dataclasses import dataclass

from harness.microworld.draws import Draw
from harness.microworld.tasks import GENERATORS, Examiner, Texts
from harness.microworld.world import build

Rows = dict[str, list[str] | list[int] | list[float]]
"""Columns of a data set."""

SIZES = {"train": 1_000, "validation": 1_000}
LABEL_NOISE = 0.04
"""Share of the labels that are wrong, in both splits: it keeps the ceiling below 100."""
SCORE_NOISE = 0.4
"""Standard deviation of the noise of a similarity score."""
POINT = 1.25
"""A similarity score for each of the four points that `tasks.similarity` gives."""
NUM_ANSWERS = {"similarity": 5}
"""Different answers of a task; two where it is not named."""


@dataclass(frozen=True)
class Example:
    """What a data set shows, and the answer that it may hide."""

    texts: Texts
    label: float | int
    answer: int


def examples(generator: str, split: str, world: int = 0) -> Rows:
    """Examples of a task, a function of the three arguments alone.

    Args:
        generator: Name in `GENERATORS`.
        split: `train` or `validation`.
        world: Seed of the world.

    Returns:
        Columns `sentence1`, `sentence2` where the task asks about pairs, and `label`.

    Raises:
        ValueError: an unknown generator or split.
    """
    made = make(generator, split, world)
    texts = zip(*(example.texts for example in made), strict=True)
    columns: Rows = {f"sentence{i}": list(column) for i, column in enumerate(texts, start=1)}
    return {**columns, "label": [example.label for example in made]}


def oracle(generator: str, split: str, world: int = 0) -> list[int]:
    """Predictions of one who knows the world: only the noise of the labels keeps it below 100."""
    return [example.answer for example in make(generator, split, world)]


def make(generator: str, split: str, world: int) -> list[Example]:
    """Different examples, every answer equally often, in random order."""
    _check("generator", generator, tuple(GENERATORS))
    _check("split", split, tuple(SIZES))
    draw = Draw(f"{generator} {split} {world}")
    this = build(world)
    examiner = Examiner(draw, this, this.train if split == "train" else this.validation)
    made: dict[Texts, Example] = {}
    while len(made) < SIZES[split]:
        answer = len(made) % NUM_ANSWERS.get(generator, 2)
        texts = GENERATORS[generator](examiner, answer)
        if texts not in made:
            made[texts] = Example(texts, _noisy(generator, answer, draw), answer)
    return draw.order(list(made.values()))


def _noisy(generator: str, answer: int, draw: Draw) -> float | int:
    """The label that an example with this answer gets."""
    if generator != "similarity":
        return 1 - answer if draw.chance(LABEL_NOISE) else answer
    # Three uniform draws have variance 1/4 together and are near enough to normal.
    noise = 2 * SCORE_NOISE * sum(draw.random() - 0.5 for _ in range(3))
    return round(min(5.0, max(0.0, POINT * answer + noise)), 2)


def _check(what: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, but is {given!r}")
