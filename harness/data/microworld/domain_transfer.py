"""Domain transfer: reviews of food in the train set, of films and food in the evaluation set."""

from harness.data.microworld import lexicon
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item, noisy

ASPECTS = {"food": lexicon.FOOD_ASPECTS, "film": lexicon.FILM_ASPECTS}
SIZES = {"train": 1_000, "validation": 2_000}


def food(sampler: Sampler, number: int) -> Item:
    """A review of food."""
    return _review(sampler, "food", number % 2)


def food_or_film(sampler: Sampler, number: int) -> Item:
    """A review of food or, equally often, of a film."""
    return _review(sampler, ("food", "film")[number // 2 % 2], number % 2)


def _review(sampler: Sampler, domain: str, answer: int) -> Item:
    """Two sentences, whose polarity only the adjectives express."""
    draw, words, positive = sampler.draw, sampler.words, answer == 1
    sentences = []
    for aspect in draw.two(ASPECTS[domain]):
        one, other = draw.two(words.polar(positive))
        opposite, adverb = draw.pick(words.polar(not positive)), draw.pick(lexicon.NEUTRAL_ADVERBS)
        phrases = (f"{adverb} {one}", f"{one} and {other}", f"not {opposite}")
        sentences.append(f"the {aspect} was {draw.pick(phrases)}.")
    labels = {"label": noisy(draw, answer, 2), "domain": domain}
    return Item({"sentence1": " ".join(sentences)}, labels, answer)
