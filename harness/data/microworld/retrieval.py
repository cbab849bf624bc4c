"""Passage retrieval, for evaluation only: sentences ranked by relevance to a query.

Shared words reveal nothing. A relevant sentence uses the synonym of the name in the query (grade
2); other sentences are about another thing of its kind (1) or of another kind (0). Verbs, people
and cities are independent of the grade.
"""

from dataclasses import dataclass

from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import DataSet, Item

NUM_QUERIES = 100
GRADES = (2, *(1,) * 3, *(0,) * 16)
"""Relevance of the candidates of each query."""
SIZES = {"test": NUM_QUERIES * len(GRADES)}
QUERY_PATTERNS = ("who {deed} the {noun}?", "where is the {noun}?", "what colour is the {noun}?")
PATTERNS = (
    "{person} {deed} the {noun} in {city}.",
    "the {noun} was {participle} by {person}.",
    "in {city}, people {deed} the {noun}.",
)


@dataclass(frozen=True)
class Ranked(DataSet):
    """Columns query, document, relevance (without noise) and query_id."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers."""
        sampler = self.sampler(split, world)
        found: dict[str, list[Item]] = {}
        while len(found) < NUM_QUERIES:
            items = candidates(sampler, f"q{len(found)}")
            found.setdefault(str(items[0].inputs["query"]), items)
        return sampler.draw.order([item for items in found.values() for item in items])


def candidates(sampler: Sampler, number: str) -> list[Item]:
    """A query with a different sentence for each of GRADES."""
    draw, concept = sampler.draw, sampler.concept()
    one, other = sampler.names(concept)
    query = _filled(sampler, draw.pick(QUERY_PATTERNS), one)
    items: dict[str, Item] = {}
    while len(items) < len(GRADES):
        grade = GRADES[len(items)]
        noun = other
        if grade < 2:
            different = sampler.sibling if grade else sampler.stranger
            noun = draw.pick(different(concept).names)
        text = _filled(sampler, draw.pick(PATTERNS), noun)
        labels = {"relevance": float(grade), "query_id": number}
        items.setdefault(text, Item({"query": query, "document": text}, labels, float(grade)))
    return list(items.values())


def _filled(sampler: Sampler, frame: str, noun: str) -> str:
    draw, verb = sampler.draw, sampler.draw.pick(sampler.world.verbs)
    return frame.format(
        noun=noun,
        deed=verb.past,
        participle=verb.participle,
        person=draw.pick(sampler.words.people),
        city=draw.pick(sampler.words.cities),
    )
