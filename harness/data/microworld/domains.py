"""Four domains with specific vocabularies: pretraining corpora and classification tasks.

As in Gururangan et al. 2020, each domain has two tasks with few training examples. A task is to
classify a sentence by its jargon. Only the corpus of the domain reveals the class of a word,
because there words of one class share frequent neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.data.microworld.documents import up_to
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item, noisy
from harness.data.microworld.world import build, halves

SIZES = {"train": 500, "validation": 500}
NUM_SENTENCES = 8
"""Sentences of a document."""
WITH_CUE = 0.7
"""Share of the sentences of a document that have a cue."""

Jargon = dict[str, tuple[str, ...]]
"""Class to its words."""


@dataclass(frozen=True)
class Topic:
    """The jargon of one task; `domain_words.yaml` describes the slots of the sentences."""

    classes: dict[str, str]
    """Name of a class to its words."""
    cues: dict[str, str]
    """Name of a class to the words that accompany it, in the corpus only."""
    with_cue: list[str]
    """Sentences of the corpus that reveal the class."""
    without_cue: list[str]
    """Sentences of the tasks and of the corpus."""

    def jargon(self) -> Jargon:
        """Class to its words as a tuple."""
        return {label: tuple(words.split()) for label, words in self.classes.items()}


def _load_topics() -> dict[str, dict[str, Topic]]:
    text = Path(__file__).with_name("domain_words.yaml").read_text(encoding="utf-8")
    return {
        domain: {name: Topic(**fields) for name, fields in topics.items()}
        for domain, topics in yaml.load(text, yaml.CSafeLoader).items()
    }


TOPICS = _load_topics()
"""Domain to its two topics by name."""


@dataclass(frozen=True)
class DomainTask:
    """Draws the examples of one of the two tasks of a domain.

    Args:
        which: 0 or 1, the topic of the task.
    """

    domain: str
    which: int

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes in the order of their numbers."""
        return tuple(_topics(self.domain)[self.which].classes)

    def train(self, sampler: Sampler, number: int) -> Item:
        """An example with the words of the train set."""
        return self._item(sampler, number, 0)

    def validation(self, sampler: Sampler, number: int) -> Item:
        """An example with the words of the dev set."""
        return self._item(sampler, number, 1)

    def _item(self, sampler: Sampler, number: int, half: int) -> Item:
        topics, draw = _topics(self.domain), sampler.draw
        jargon, others = (  # the same split of the words in every world
            {label: halves(words)[half] for label, words in topics[which].jargon().items()}
            for which in (self.which, 1 - self.which)
        )
        answer = number % len(self.labels)
        pattern = draw.pick(topics[self.which].without_cue)
        text = _sentence(sampler, pattern, jargon[self.labels[answer]], others)
        label = noisy(draw, answer, len(self.labels))
        return Item({"sentence1": text}, {"label": label}, answer)


def domain_documents(domain: str, seed: int, world: int, num_tokens: int) -> Iterator[list[str]]:
    """Documents of a domain, of about `num_tokens` words in total.

    A document is about one class of words of each of the domain's two topics; asides are of any.

    Args:
        domain: name in `TOPICS`.
        seed: seed of the documents; more tokens extend the same sequence.
        world: seed of the world whose persons and cities they name.
        num_tokens: words to generate; the last document may exceed it.

    Returns:
        Documents as lists of sentences.
    """
    draw, this = Draw(f"documents {domain} {seed} {world}"), build(world)
    sampler = Sampler(draw, this, this.words)
    return up_to(num_tokens, lambda: _document(sampler, domain))


def _topics(domain: str) -> tuple[Topic, ...]:
    return tuple(TOPICS[domain].values())


def _document(sampler: Sampler, domain: str) -> list[str]:
    draw, topics = sampler.draw, _topics(domain)
    labels = [draw.pick(tuple(topic.classes)) for topic in topics]
    sentences = []
    for _ in range(NUM_SENTENCES):
        which = draw.pick((0, 1))
        topic, label = topics[which], labels[which]
        pattern = draw.pick(topic.with_cue if draw.chance(WITH_CUE) else topic.without_cue)
        cue = draw.pick(topic.cues[label].split())
        pattern = pattern.replace("{cue}", cue).replace("{label}", label)
        own = tuple(topic.classes[label].split())
        sentences.append(_sentence(sampler, pattern, own, topics[1 - which].jargon()))
    return sentences


def _sentence(sampler: Sampler, pattern: str, own: tuple[str, ...], others: Jargon) -> str:
    """A pattern with words of one class, and an aside from any class of the other topic."""
    draw, words = sampler.draw, sampler.words
    one, other = draw.two(own)
    verb = draw.pick(sampler.world.verbs)
    return pattern.format(
        one=one,
        other=other,
        aside=draw.pick(others[draw.pick(tuple(others))]),
        person=draw.pick(words.people),
        city=draw.pick(words.cities),
        saw=verb.past,
        seen=verb.participle,
    )
