"""Diagnostic sets of entailment, modelled on AX-b and AX-g of SuperGLUE, for a network trained on
the pairs of `sentence_tasks.entailment`."""

from dataclasses import dataclass

from harness.data.microworld import overlap
from harness.data.microworld.inference import inference
from harness.data.microworld.morphology import HE, SHE
from harness.data.microworld.sampler import Sampler, Texts
from harness.data.microworld.sampling import Item, Labelled, noisy

PAIRS = "axg"
"""The split of minimal pairs."""


def negation(sampler: Sampler, entailed: bool) -> Texts:
    """What a premise affirms, or what it denies or omits."""
    return inference(sampler, 0 if entailed else sampler.draw.pick((1, 2)))


PHENOMENA = (negation, overlap.roles, overlap.attachment, overlap.meaning)
"""Kinds of pairs that the train set does not have."""


def phenomena(sampler: Sampler, label: int) -> Texts:
    """Modelled on AX-b: 0 entailment, 1 not. Negation, exchanged roles, attachment, and pronouns
    with synonyms are equally frequent."""
    return sampler.draw.pick(PHENOMENA)(sampler, label == 0)


def genders(sampler: Sampler, label: int) -> list[Texts]:
    """Modelled on AX-g: two examples that differ in the gender of a person alone, on which nothing
    depends, in random order. 0 entailment, 1 not."""
    draw, (first, concept) = sampler.draw, sampler.distinct(2)
    one, other = sampler.names(concept)
    stated = concept if label == 0 else sampler.stranger(concept)
    mentioned = sampler.mention(other if label == 0 else draw.pick(stated.names), stated.kind)
    deed, later = (verb.past for verb in draw.two(sampler.world.verbs))
    thing, words = draw.pick(first.names), sampler.words
    people = ((draw.pick(words.women), SHE), (draw.pick(words.men), HE))
    return draw.order(
        [
            (
                f"{person} {deed} the {thing}, then {pronouns.subject} {later} the {one}.",
                f"{person} {later} {mentioned}.",
            )
            for person, pronouns in people
        ]
    )


@dataclass(frozen=True)
class WithPairs(Labelled):
    """A `Labelled` data set with a split of minimal pairs, whose column `pair` numbers them."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers; those of a pair follow each other."""
        if split != PAIRS:
            return super().made(split, world)
        sampler = self.sampler(split, world)
        made: dict[str, list[Item]] = {}
        while len(made) < self.sizes[split] // 2:
            answer = len(made) % 2
            texts = genders(sampler, answer)
            label = {"label": noisy(sampler.draw, answer, 2), "pair": len(made)}
            rows = (dict(zip(self.columns, pair, strict=True)) for pair in texts)
            made.setdefault(repr(sorted(texts)), [Item(row, label, answer) for row in rows])
        return [item for pair in sampler.draw.order(list(made.values())) for item in pair]
