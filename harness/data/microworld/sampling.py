"""Data sets of any columns, made from a function that draws an example with its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.data.microworld.labelled import SIZES, Rows, check
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import build


@dataclass(frozen=True)
class Item:
    """One example."""

    inputs: dict[str, Any]
    """Columns that a model may read; no two examples of a split share them all."""
    labels: dict[str, Any]
    """The other columns."""
    answer: Any
    """What one who knows the world says, in the form of a label."""


Make = Callable[[Examiner, int], Item]
"""Draws an example from the material of the split and the number of the example: the number fixes
what kind of answer is wanted, so that every one comes equally often."""


@dataclass(frozen=True)
class Sampled:
    """A task: different examples in random order.

    Every split but train uses the open words that train does not use, or all use all of them, where
    the task is to look something up and not to know words.
    """

    name: str
    make: Make
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    """Split to its number of examples."""
    other_makes: Mapping[str, Make] = field(default_factory=dict)
    """Split to what draws its examples, where it is not `make`."""
    all_words: bool = False

    def __call__(self, split: str, world: int = 0) -> Rows:
        """The columns, a function of the arguments alone.

        Raises:
            ValueError: an unknown split.
        """
        return columns(self.made(split, world))

    def answers(self, split: str, world: int = 0) -> list[Any]:
        """What one who knows the world says: only the noise of the labels proves it wrong."""
        return [item.answer for item in self.made(split, world)]

    def made(self, split: str, world: int) -> list[Item]:
        """The examples with their answers."""
        check("split", split, tuple(self.sizes))
        this, draw = build(world), Draw(f"{self.name} {split} {world}")
        own = this.train if split == "train" else this.validation
        examiner = Examiner(draw, this, this.words if self.all_words else own)
        make = self.other_makes.get(split, self.make)
        made: dict[str, Item] = {}
        while len(made) < self.sizes[split]:
            item = make(examiner, len(made))
            made.setdefault(repr(item.inputs), item)
        return draw.order(list(made.values()))


def columns(items: list[Item]) -> Rows:
    """The examples as columns, inputs first."""
    rows = [{**item.inputs, **item.labels} for item in items]
    return {name: [row[name] for row in rows] for name in rows[0]}
