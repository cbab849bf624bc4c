"""Data sets with arbitrary columns, made by a function that draws an example with its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.data.microworld.labelled import SIZES, Rows, check
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.world import build


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


@dataclass(frozen=True)
class Sampled:
    """A data set without duplicates, in random order.

    All splits except train use the open words that train does not use.
    """

    name: str
    draw_item: DrawItem
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    """Split to its number of examples."""
    item_by_split: Mapping[str, DrawItem] = field(default_factory=dict)
    """Split to the function that replaces `draw_item` there."""
    all_words: bool = False
    """Whether all splits use all words, for tasks that need no knowledge of words."""

    def __call__(self, split: str, world: int = 0) -> Rows:
        """The columns of a split.

        Raises:
            ValueError: an unknown split.
        """
        return columns(self.made(split, world))

    def answers(self, split: str, world: int = 0) -> list[Any]:
        """The true answers; they differ from the labels only by noise."""
        return [item.answer for item in self.made(split, world)]

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers.

        Raises:
            ValueError: an unknown split.
        """
        check("split", split, tuple(self.sizes))
        this, draw = build(world), Draw(f"{self.name} {split} {world}")
        own = this.train if split == "train" else this.validation
        sampler = Sampler(draw, this, this.words if self.all_words else own)
        draw_item = self.item_by_split.get(split, self.draw_item)
        made: dict[str, Item] = {}
        while len(made) < self.sizes[split]:
            item = draw_item(sampler, len(made))
            made.setdefault(repr(item.inputs), item)
        return draw.order(list(made.values()))


def columns(items: list[Item]) -> Rows:
    """The examples as columns, inputs first."""
    rows = [{**item.inputs, **item.labels} for item in items]
    return {name: [row[name] for row in rows] for name in rows[0]}
