"""Which sentences tell of what a query asks about? After passage retrieval; nothing to train on.

The words that a query and a sentence share say nothing: a sentence that answers names the thing by
its other name (grade 2), sentences about another thing of its kind come near (1), the others do not
(0). Verbs, people and cities are drawn without looking at the grade.
"""

from dataclasses import dataclass
from typing import Any

from harness.data.microworld.labelled import Rows, check
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item, columns
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import build

SPLIT = "test"
QUERIES = 100
GRADES = (2, *(1,) * 3, *(0,) * 16)
"""Of the candidates of each query."""
ASKED = ("who {deed} the {noun}?", "where is the {noun}?", "what colour is the {noun}?")
TOLD = (
    "{person} {deed} the {noun} in {city}.",
    "the {noun} was {participle} by {person}.",
    "in {city}, people {deed} the {noun}.",
)


@dataclass(frozen=True)
class Ranked:
    """The task: queries with their candidates, all in random order."""

    name: str

    def __call__(self, split: str, world: int = 0) -> Rows:
        """Columns query, document, relevance and query_id.

        Raises:
            ValueError: an unknown split.
        """
        return columns(self.made(split, world))

    def answers(self, split: str, world: int = 0) -> list[Any]:
        """The grades: there is no noise."""
        return [item.answer for item in self.made(split, world)]

    def made(self, split: str, world: int) -> list[Item]:
        """The candidates of all queries with their grades."""
        check("split", split, (SPLIT,))
        this, draw = build(world), Draw(f"{self.name} {split} {world}")
        examiner = Examiner(draw, this, this.validation)
        found: dict[str, list[Item]] = {}
        while len(found) < QUERIES:
            items = candidates(examiner, f"q{len(found)}")
            found.setdefault(str(items[0].inputs["query"]), items)
        return draw.order([item for items in found.values() for item in items])


def candidates(examiner: Examiner, number: str) -> list[Item]:
    """A query with a sentence for each of GRADES, no two of them alike."""
    draw, concept = examiner.draw, examiner.concept()
    one, other = examiner.names(concept)
    query = _filled(examiner, draw.pick(ASKED), one)
    items: dict[str, Item] = {}
    while len(items) < len(GRADES):
        grade = GRADES[len(items)]
        noun = other
        if grade < 2:
            far = examiner.sibling if grade else examiner.stranger
            noun = draw.pick(far(concept).names)
        text = _filled(examiner, draw.pick(TOLD), noun)
        labels = {"relevance": float(grade), "query_id": number}
        items.setdefault(text, Item({"query": query, "document": text}, labels, float(grade)))
    return list(items.values())


def _filled(examiner: Examiner, frame: str, noun: str) -> str:
    draw, verb = examiner.draw, examiner.draw.pick(examiner.world.verbs)
    return frame.format(
        noun=noun,
        deed=verb.past,
        participle=verb.participle,
        person=draw.pick(examiner.words.people),
        city=draw.pick(examiner.words.cities),
    )
