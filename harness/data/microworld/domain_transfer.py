"""Domain transfer: reviews of food in the train set, of films and food in the evaluation set."""

from harness.data.microworld import lexicon
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item, noisy

ASPECTS = {"food": lexicon.FOOD_ASPECTS, "film": lexicon.FILM_ASPECTS}
SIZES = {"train": 1_000, "validation": 2_000}


def review(sampler: Sampler, domain: str, positive: bool) -> str:
    """Two sentences of a review, whose polarity only the adjectives express."""
    draw, words = sampler.draw, sampler.words
    aspects = draw.two(ASPECTS[domain])
    sentences = []
    for aspect in aspects:
        one, other = draw.two(words.polar(positive))
        opposite, adverb = draw.pick(words.polar(not positive)), draw.pick(lexicon.NEUTRAL_ADVERBS)
        phrases = (f"{adverb} {one}", f"{one} and {other}", f"not {opposite}")
        sentences.append(f"the {aspect} was {draw.pick(phrases)}.")
    return " ".join(sentences)


def food(sampler: Sampler, number: int) -> Item:
    """A review of food."""
    return _item(sampler, "food", number % 2)


def food_or_film(sampler: Sampler, number: int) -> Item:
    """A review of food or, equally often, of a film."""
    return _item(sampler, ("food", "film")[number // 2 % 2], number % 2)


def _item(sampler: Sampler, domain: str, answer: int) -> Item:
    text = review(sampler, domain, answer == 1)
    label = noisy(sampler.draw, answer, 2)
    return Item({"sentence1": text}, {"label": label, "domain": domain}, answer)
