"""Data sets with label noise, made by a function that draws the texts for a given answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler, Texts
from harness.data.microworld.world import build

Rows = dict[str, list[Any]]
"""Columns of a data set, of equal length."""
DrawTexts = Callable[[Sampler, int], Texts]
"""Draws the texts of an example with a given answer."""

SIZES: Mapping[str, int] = {"train": 1_000, "validation": 1_000}
"""Split to its number of examples."""
LABEL_NOISE = 0.04
"""Share of wrong labels in all splits; it keeps the ceiling below 100."""
SCORE_NOISE = 0.4
"""Standard deviation of the noise of a similarity score."""
POINT = 1.25
"""Similarity score of one of the four points of `sentence_tasks.similarity`."""
NUM_SIZES = 3
"""How many different numbers of choices a multiple-choice task may have."""


@dataclass(frozen=True)
class Example:
    """Texts with a noisy label, and the true answer."""

    texts: Texts
    label: float | int
    answer: int
    group: str = ""


@dataclass(frozen=True)
class Labelled:
    """A classification data set: balanced, without duplicates, in random order.

    All splits except train use the open words that train does not use.
    """

    name: str
    draw_texts: DrawTexts
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    """Names of the texts that `draw_texts` returns."""
    num_answers: int = 2
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    texts_by_split: Mapping[str, DrawTexts] = field(default_factory=dict)
    """Split to the function that replaces `draw_texts` there."""

    def __call__(self, split: str, world: int = 0) -> Rows:
        """The columns of a split, and `label`.

        Raises:
            ValueError: an unknown split.
        """
        made = self.made(split, world)
        texts = zip(*(example.texts for example in made), strict=True)
        columns: Rows = dict(zip(self.columns, map(list, texts), strict=True))
        return {**columns, "label": [example.label for example in made]}

    def answers(self, split: str, world: int = 0) -> list[int]:
        """The true answers; they differ from the labels only by noise."""
        return [example.answer for example in self.made(split, world)]

    def made(self, split: str, world: int) -> list[Example]:
        """The examples of a split with their answers."""
        sampler = self.sampler(split, world)
        made: dict[Texts, Example] = {}
        while len(made) < self.sizes[split]:
            texts, answer = self.drawn(sampler, split, len(made))
            if texts not in made:
                label = self.label(sampler.draw, texts, answer)
                made[texts] = Example(texts, label, answer)
        return sampler.draw.order(list(made.values()))

    def sampler(self, split: str, world: int) -> Sampler:
        """The sampler of a split.

        Raises:
            ValueError: an unknown split.
        """
        check("split", split, tuple(self.sizes))
        this = build(world)
        words = this.train if split == "train" else this.validation
        return Sampler(Draw(f"{self.name} {split} {world}"), this, words)

    def drawn(self, sampler: Sampler, split: str, number: int) -> tuple[Texts, int]:
        """Texts and answer of a candidate for example `number`; duplicates are rejected."""
        answer = number % self.num_answers
        return self.texts_by_split.get(split, self.draw_texts)(sampler, answer), answer

    def label(self, draw: Draw, texts: Texts, answer: int) -> float | int:
        """The noisy label of an example with this answer."""
        return noisy(draw, answer, self.num_answers)


@dataclass(frozen=True)
class Scored(Labelled):
    """A regression data set with scores from 0 to 5."""

    def label(self, draw: Draw, texts: Texts, answer: int) -> float:
        """A noisy score proportional to the answer."""
        return noisy_score(draw, POINT * answer)


@dataclass(frozen=True)
class MultipleChoice(Labelled):
    """A multiple-choice data set, with the correct choice equally often in every position.

    `draw_texts` takes the number of the example and returns the context, then the choices, the
    correct one first.
    """

    columns: tuple[str, ...] = ("context", "choices")

    def __call__(self, split: str, world: int = 0) -> Rows:
        """Columns `context`, `choices` (lists of texts) and `label` (index of the correct one).

        Raises:
            ValueError: an unknown split.
        """
        made = self.made(split, world)
        return {
            "context": [example.texts[0] for example in made],
            "choices": [list(example.texts[1:]) for example in made],
            "label": [example.label for example in made],
        }

    def drawn(self, sampler: Sampler, split: str, number: int) -> tuple[Texts, int]:
        """Context and choices, and the index of the correct choice."""
        context, right, *choices = self.draw_texts(sampler, number)
        place = number // NUM_SIZES % (len(choices) + 1)
        choices.insert(place, right)
        return (context, *choices), place

    def label(self, draw: Draw, texts: Texts, answer: int) -> int:
        """The index that is labelled as correct."""
        return noisy(draw, answer, len(texts) - 1)


def noisy(draw: Draw, answer: int, num_answers: int) -> int:
    """The answer, or with probability LABEL_NOISE another one."""
    if not draw.chance(LABEL_NOISE):
        return answer
    others = [other for other in range(num_answers) if other != answer]
    return others[0] if len(others) == 1 else draw.pick(others)


def noisy_score(draw: Draw, exact: float, lowest: float = 0.0) -> float:
    """`exact` with noise of standard deviation SCORE_NOISE, clipped to [lowest, 5]."""
    # Three uniform draws have total variance 1/4 and are close enough to normal.
    noise = 2 * SCORE_NOISE * sum(draw.random() - 0.5 for _ in range(3))
    return round(min(5.0, max(lowest, exact + noise)), 2)


def check(what: str, given: str, allowed: tuple[str, ...]) -> None:
    """Checks that `given` is one of `allowed`.

    Raises:
        ValueError: it is not.
    """
    if given not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, but is {given!r}")
