"""Data sets of the micro-world, each made from functions that draw one example."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler, Texts
from harness.data.microworld.world import build

Rows = dict[str, list[Any]]
"""Columns of a data set, of equal length."""
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
class Item:
    """One example."""

    inputs: dict[str, Any]
    """Columns for the model; no two examples of a split have the same ones."""
    labels: dict[str, Any]
    """The other columns."""
    answer: Any
    """The label without noise."""


DrawItem = Callable[[Sampler, int], Item]
"""Draws an example; its number determines the kind of answer, so that all occur equally often."""
DrawTexts = Callable[[Sampler, int], Texts]
"""Draws the texts of an example with a given answer."""


@dataclass(frozen=True)
class DataSet(ABC):
    """A data set without duplicates, in random order.

    All splits except train use the open words that train does not use.
    """

    name: str
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES, kw_only=True)
    """Split to its number of examples."""

    def __call__(self, split: str, world: int = 0) -> Rows:
        """The columns of a split, inputs first.

        Raises:
            ValueError: an unknown split.
        """
        rows = [{**item.inputs, **item.labels} for item in self.made(split, world)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def answers(self, split: str, world: int = 0) -> list[Any]:
        """The true answers; they differ from the labels only by noise.

        Raises:
            ValueError: an unknown split.
        """
        return [item.answer for item in self.made(split, world)]

    @abstractmethod
    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers.

        Raises:
            ValueError: an unknown split.
        """

    def sampler(self, split: str, world: int, all_words: bool = False) -> Sampler:
        """The sampler of a split, with all words or those of the split.

        Raises:
            ValueError: an unknown split.
        """
        check("split", split, tuple(self.sizes))
        this = build(world)
        own = this.train if split == "train" else this.validation
        return Sampler(Draw(f"{self.name} {split} {world}"), this, this.words if all_words else own)


@dataclass(frozen=True)
class Sampled(DataSet):
    """A data set with arbitrary columns, made by a function that draws an example."""

    draw_item: DrawItem
    item_by_split: Mapping[str, DrawItem] = field(default_factory=dict)
    """Split to the function that replaces `draw_item` there."""
    all_words: bool = False
    """Whether all splits use all words, for tasks that need no knowledge of words."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers."""
        sampler = self.sampler(split, world, self.all_words)
        draw_item = self.item_by_split.get(split, self.draw_item)
        made: dict[str, Item] = {}
        while len(made) < self.sizes[split]:
            item = draw_item(sampler, len(made))
            made.setdefault(repr(item.inputs), item)
        return sampler.draw.order(list(made.values()))


@dataclass(frozen=True)
class Labelled(DataSet):
    """A balanced data set with label noise, made by a function that draws texts for an answer."""

    draw_texts: DrawTexts
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    """Names of the texts that `draw_texts` returns."""
    num_answers: int = 2
    texts_by_split: Mapping[str, DrawTexts] = field(default_factory=dict)
    """Split to the function that replaces `draw_texts` there."""
    scored: bool = False
    """Whether the label is a score from 0 to 5, proportional to the answer."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers."""
        sampler = self.sampler(split, world)
        made: dict[str, Item] = {}
        while len(made) < self.sizes[split]:
            inputs, answer, num_answers = self.drawn(sampler, split, len(made))
            if repr(inputs) not in made:
                draw = sampler.draw
                label = (
                    noisy_score(draw, POINT * answer)
                    if self.scored
                    else noisy(draw, answer, num_answers)
                )
                made[repr(inputs)] = Item(inputs, {"label": label}, answer)
        return sampler.draw.order(list(made.values()))

    def drawn(self, sampler: Sampler, split: str, number: int) -> tuple[dict[str, Any], int, int]:
        """A candidate for example `number`: its inputs, its answer, and how many are possible."""
        answer = number % self.num_answers
        texts = self.texts_by_split.get(split, self.draw_texts)(sampler, answer)
        return dict(zip(self.columns, texts, strict=True)), answer, self.num_answers


@dataclass(frozen=True)
class MultipleChoice(Labelled):
    """Columns `context`, `choices` and `label`, the index of the correct choice.

    `draw_texts` takes the number of the example and returns the context, then the choices, the
    correct one first. The correct choice is equally often in every position.
    """

    def drawn(self, sampler: Sampler, split: str, number: int) -> tuple[dict[str, Any], int, int]:
        """Context and choices, the index of the correct choice, and the number of choices."""
        context, right, *choices = self.draw_texts(sampler, number)
        place = number // NUM_SIZES % (len(choices) + 1)
        choices.insert(place, right)
        return {"context": context, "choices": choices}, place, len(choices)


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
