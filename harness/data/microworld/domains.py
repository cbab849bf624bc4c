"""Domains with a vocabulary of their own: corpora for pretraining on, and tasks of classes.

After Gururangan et al. 2020: two tasks for each of four domains, with few training examples. A task
asks to which class of jargon a sentence belongs. Which word has which class is told by the corpus
of the domain alone, where words of one class share frequent neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.data.microworld.domain_words import DOMAINS, Topic
from harness.data.microworld.labelled import noisy
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import TRAIN_SHARE, Words, World, build

SIZES = {"train": 500, "validation": 500}
NUM_SENTENCES = 8
"""Of a document."""
TOLD = 0.7
"""Share of the sentences of a document that have a cue."""

Jargon = dict[str, tuple[str, ...]]
"""Class to its words."""


@dataclass(frozen=True)
class DomainTask:
    """Maker of the examples of one of the two tasks of a domain."""

    domain: str
    which: int
    """0 or 1."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""
        return tuple(DOMAINS[self.domain][self.which].classes)

    def train(self, examiner: Examiner, number: int) -> Item:
        """An example in the words of train."""
        return self._item(examiner, number, 0)

    def validation(self, examiner: Examiner, number: int) -> Item:
        """An example in the other words."""
        return self._item(examiner, number, 1)

    def _item(self, examiner: Examiner, number: int, half: int) -> Item:
        topics, draw = DOMAINS[self.domain], examiner.draw
        jargon, others = (
            {label: _halves(words)[half] for label, words in _jargon(topics[which]).items()}
            for which in (self.which, 1 - self.which)
        )
        answer = number % len(self.labels)
        pattern = draw.pick(topics[self.which].asked)
        text = _sentence(
            draw, examiner.world, examiner.words, pattern, jargon[self.labels[answer]], others
        )
        label = noisy(draw, answer, len(self.labels))
        return Item({"sentence1": text}, {"label": label}, answer)


def domain_documents(domain: str, seed: int, world: int, num_tokens: int) -> Iterator[list[str]]:
    """Documents of a domain, of about `num_tokens` words in all.

    Each keeps to one class of words for either question of the domain.

    Args:
        domain: Name in `DOMAINS`.
        seed: Seed of the documents; the same one with more tokens starts alike.
        world: Seed of the world whose persons and cities they name.
        num_tokens: Words to generate; the last document may exceed it.

    Yields:
        A document as a list of sentences.
    """
    draw, this = Draw(f"documents {domain} {seed} {world}"), build(world)
    told = 0
    while told < num_tokens:
        document = _document(draw, this, domain)
        told += sum(1 + text.count(" ") + sum(map(text.count, ".,:")) for text in document)
        yield document


def _document(draw: Draw, world: World, domain: str) -> list[str]:
    topics = DOMAINS[domain]
    labels = [draw.pick(tuple(topic.classes)) for topic in topics]
    sentences = []
    for _ in range(NUM_SENTENCES):
        which = draw.pick((0, 1))
        topic, label = topics[which], labels[which]
        pattern = draw.pick(topic.told if draw.chance(TOLD) else topic.asked)
        cue = draw.pick(topic.cues[label].split())
        pattern = pattern.replace("{cue}", cue).replace("{label}", label)
        own = tuple(topic.classes[label].split())
        sentences.append(
            _sentence(draw, world, world.words, pattern, own, _jargon(topics[1 - which]))
        )
    return sentences


def _sentence(
    draw: Draw, world: World, words: Words, pattern: str, own: tuple[str, ...], others: Jargon
) -> str:
    """A pattern with words of one class, and an aside of any class of the other question."""
    one, other = draw.two(own)
    verb = draw.pick(world.verbs)
    return pattern.format(
        one=one,
        other=other,
        aside=draw.pick(others[draw.pick(tuple(others))]),
        person=draw.pick(words.people),
        city=draw.pick(words.cities),
        saw=verb.past,
        seen=verb.participle,
    )


def _jargon(topic: Topic) -> Jargon:
    return {label: tuple(words.split()) for label, words in topic.classes.items()}


def _halves(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of train, and the others; the same in every world, as all jargon is."""
    cut = round(TRAIN_SHARE * len(words))
    return words[:cut], words[cut:]
