"""Random draws that do not depend on the version of Python."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw(random.Random):
    """Draws built on `random()` alone, whose sequence for a seed Python guarantees."""

    def pick(self, items: Sequence[Item]) -> Item:
        """One of `items`, all equally likely."""
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def order(self, items: Sequence[Item]) -> list[Item]:
        """`items` in random order."""
        return sorted(items, key=lambda _: self.random())

    def two(self, items: Sequence[Item]) -> tuple[Item, Item]:
        """Two different `items` in random order."""
        first = int(self.random() * len(items))
        second = int(self.random() * (len(items) - 1))
        return items[first], items[second + (second >= first)]
