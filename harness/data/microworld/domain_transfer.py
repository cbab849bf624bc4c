"""Opinions about food in the train set, about films and food in the evaluation set."""

from harness.data.microworld import lexicon
from harness.data.microworld.labelled import noisy
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner

ASPECTS = {"food": lexicon.FOOD_ASPECTS, "film": lexicon.FILM_ASPECTS}
SIZES = {"train": 1_000, "validation": 2_000}


def review(examiner: Examiner, domain: str, positive: bool) -> str:
    """Two sentences of a review; no word but its adjectives tells what it thinks."""
    draw, words = examiner.draw, examiner.words
    aspects = draw.two(ASPECTS[domain])
    sentences = []
    for aspect in aspects:
        one, other = draw.two(words.polar(positive))
        opposite, adverb = draw.pick(words.polar(not positive)), draw.pick(lexicon.NEUTRAL_ADVERBS)
        forms = (f"{adverb} {one}", f"{one} and {other}", f"not {opposite}")
        sentences.append(f"the {aspect} was {draw.pick(forms)}.")
    return " ".join(sentences)


def food(examiner: Examiner, number: int) -> Item:
    """A review of food."""
    return _item(examiner, "food", number % 2)


def food_or_film(examiner: Examiner, number: int) -> Item:
    """A review of food or, as often, of a film."""
    return _item(examiner, ("food", "film")[number // 2 % 2], number % 2)


def _item(examiner: Examiner, domain: str, answer: int) -> Item:
    text = review(examiner, domain, answer == 1)
    label = noisy(examiner.draw, answer, 2)
    return Item({"sentence1": text}, {"label": label, "domain": domain}, answer)
