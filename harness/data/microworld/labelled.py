"""Data sets with noisy labels, made from a function that draws the texts to an answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sentence_tasks import Examiner, Texts
from harness.data.microworld.world import build

Rows = dict[str, list[Any]]
"""Columns of a data set, of equal length."""
Ask = Callable[[Examiner, int], Texts]
"""Draws the texts of an example from its answer."""

SIZES: Mapping[str, int] = {"train": 1_000, "validation": 1_000}
"""Split to its number of examples."""
LABEL_NOISE = 0.04
"""Share of the labels that are wrong, in all splits: it keeps the ceiling below 100."""
SCORE_NOISE = 0.4
"""Standard deviation of the noise of a similarity score."""
POINT = 1.25
"""A similarity score for each of the four points that `tasks.similarity` gives."""
NUM_SIZES = 3
"""Different numbers of choices that a multiple choice may have."""


@dataclass(frozen=True)
class Example:
    """What a data set shows, and the answer that it may hide."""

    texts: Texts
    label: float | int
    answer: int
    group: str = ""


@dataclass(frozen=True)
class Labelled:
    """A task of classes: each answer equally often, different examples, in random order.

    Every split but train uses the open words that train does not use.
    """

    name: str
    ask: Ask
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    """Names of the texts that `ask` draws."""
    num_answers: int = 2
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    other_asks: Mapping[str, Ask] = field(default_factory=dict)
    """Split to what draws its texts, where it is not `ask`."""

    def __call__(self, split: str, world: int = 0) -> Rows:
        """The columns, and `label`.

        Raises:
            ValueError: an unknown split.
        """
        made = self.made(split, world)
        texts = zip(*(example.texts for example in made), strict=True)
        columns: Rows = dict(zip(self.columns, map(list, texts), strict=True))
        return {**columns, "label": [example.label for example in made]}

    def answers(self, split: str, world: int = 0) -> list[int]:
        """What one who knows the world says: only the noise of the labels proves it wrong."""
        return [example.answer for example in self.made(split, world)]

    def made(self, split: str, world: int) -> list[Example]:
        """The examples with their answers."""
        examiner = self.examiner(split, world)
        made: dict[Texts, Example] = {}
        while len(made) < self.sizes[split]:
            texts, answer = self.drawn(examiner, split, len(made))
            if texts not in made:
                label = self.label(examiner.draw, texts, answer)
                made[texts] = Example(texts, label, answer)
        return examiner.draw.order(list(made.values()))

    def examiner(self, split: str, world: int) -> Examiner:
        """Who draws the material of a split."""
        check("split", split, tuple(self.sizes))
        this = build(world)
        words = this.train if split == "train" else this.validation
        return Examiner(Draw(f"{self.name} {split} {world}"), this, words)

    def drawn(self, examiner: Examiner, split: str, number: int) -> tuple[Texts, int]:
        """Texts and answer of the example after `number` others, if it is none of them."""
        answer = number % self.num_answers
        return self.other_asks.get(split, self.ask)(examiner, answer), answer

    def label(self, draw: Draw, texts: Texts, answer: int) -> float | int:
        """The label that an example with this answer gets."""
        return noisy(draw, answer, self.num_answers)


@dataclass(frozen=True)
class Scored(Labelled):
    """A task of scores from 0 to 5."""

    def label(self, draw: Draw, texts: Texts, answer: int) -> float:
        """A score in proportion to the answer."""
        # Three uniform draws have variance 1/4 together and are near enough to normal.
        noise = 2 * SCORE_NOISE * sum(draw.random() - 0.5 for _ in range(3))
        return round(min(5.0, max(0.0, POINT * answer + noise)), 2)


@dataclass(frozen=True)
class MultipleChoice(Labelled):
    """A task of choices: `ask` is given a running number and draws the context, then the choices,
    the right one first. Every place is right equally often, for every number of choices."""

    columns: tuple[str, ...] = ("context", "choices")

    def __call__(self, split: str, world: int = 0) -> Rows:
        """Columns `context`, `choices` (a list of texts) and `label` (place of the right one)."""
        made = self.made(split, world)
        return {
            "context": [example.texts[0] for example in made],
            "choices": [list(example.texts[1:]) for example in made],
            "label": [example.label for example in made],
        }

    def drawn(self, examiner: Examiner, split: str, number: int) -> tuple[Texts, int]:
        """Texts and place of the right choice."""
        context, right, *choices = self.ask(examiner, number)
        place = number // NUM_SIZES % (len(choices) + 1)
        choices.insert(place, right)
        return (context, *choices), place

    def label(self, draw: Draw, texts: Texts, answer: int) -> int:
        """The place that is called right."""
        return noisy(draw, answer, len(texts) - 1)


def noisy(draw: Draw, answer: int, num_answers: int) -> int:
    """The answer, or with the probability LABEL_NOISE another one."""
    if not draw.chance(LABEL_NOISE):
        return answer
    others = [other for other in range(num_answers) if other != answer]
    return others[0] if len(others) == 1 else draw.pick(others)


def check(what: str, given: str, allowed: tuple[str, ...]) -> None:
    """Raises a ValueError unless `given` is one of `allowed`."""
    if given not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, but is {given!r}")
