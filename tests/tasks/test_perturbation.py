"""Noise in examples: by hand, deterministic, and for any text."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.examples import Examples
from harness.tasks.perturbation import Perturbation, perturbed, perturbed_text, with_typo

TEXT = "the old man saw a small dog near the river , and it barked at him all night"
TEXTS = st.text(max_size=60)
RATES = st.floats(0, 1)


def edits(word: str, letters: str) -> set[str]:
    """All words at one replaced, deleted or swapped letter from an ASCII word of letters."""
    splits = [(word[:i], word[i:]) for i in range(len(word))]
    found = {a + c + b[1:] for a, b in splits for c in letters}
    found |= {a + b[1:] for a, b in splits if len(word) > 1}
    found |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    return found - {word}


@pytest.mark.parametrize("word", ["a", "of", "seem", "oo", "dogs"])
def test_typos_are_all_single_edits(word: str) -> None:
    """Against an enumeration as in Norvig's spelling corrector."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    grid = np.linspace(0, 0.999, 120)
    found = {with_typo(word, *draw) for draw in product(grid[::10], grid[::10], grid)}
    assert found == edits(word, letters)


def test_typos_by_hand() -> None:
    assert with_typo("Dog,", 0.9, 0.0, 0.0) == "oDg,"
    assert with_typo("Dog,", 0.5, 0.0, 0.0) == "og,"
    assert with_typo("Dog,", 0.0, 0.0, 0.0) == "Aog,"
    assert with_typo("1,000", 0.0, 0.0, 0.0) == "1,000"


def test_rates_are_shares_of_the_words() -> None:
    words = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(26 * 26)]
    typos = perturbed_text(" ".join(words), Perturbation(typos=0.1)).split()
    assert len(typos) == len(words)
    changed = np.mean([one != other for one, other in zip(words, typos, strict=True)])
    assert changed == pytest.approx(0.1, abs=0.04)
    left = perturbed_text(" ".join(words), Perturbation(drop=0.2)).split()
    assert len(left) / len(words) == pytest.approx(0.8, abs=0.05)
    assert left == [word for word in words if word in left]


def test_noise_is_the_same_each_time() -> None:
    """Of a text and its place, whatever stands beside it."""
    noise = Perturbation(typos=0.5, drop=0.2, shuffle=True)
    labels = np.array([0, 1])
    pairs = Examples([(TEXT, TEXT), ("a dog", TEXT)], labels)
    found = perturbed(pairs, noise)
    assert found.texts[0][1] == found.texts[1][1] != found.texts[0][0]
    assert perturbed(pairs, noise).texts == found.texts
    assert found.labels is labels
    assert perturbed_text(TEXT, Perturbation(typos=0.3)) == (
        "the ol man saw a small dog near the river , apd iy arked at him all night"
    )


def test_choices_and_groups_stay() -> None:
    clean = Examples([(TEXT,)], np.array([0]), [("the dog", "the man")], np.array(["g"]))
    found = perturbed(clean, Perturbation(typos=1))
    assert (found.choices, found.groups) == (clean.choices, clean.groups)
    assert found.texts != clean.texts


@given(TEXTS)
def test_without_noise_a_text_stays(text: str) -> None:
    assert perturbed_text(text, Perturbation()) == text


@given(TEXTS, RATES, RATES)
def test_a_higher_rate_adds_to_the_noise_of_a_lower_one(text: str, one: float, two: float) -> None:
    low, high = sorted((one, two))
    words = text.split()
    few, many = (perturbed_text(text, Perturbation(typos=rate)).split() for rate in (low, high))
    assert len(few) == len(many) == len(words)
    assert all(b == c for a, b, c in zip(words, few, many, strict=True) if a != b)
    few, many = (perturbed_text(text, Perturbation(drop=rate)).split() for rate in (low, high))
    assert Counter(many) <= Counter(few) <= Counter(words)
    assert bool(many) == bool(words)


@given(TEXTS)
def test_typos_keep_spaces_and_a_whole_rate_changes_every_word_with_letters(text: str) -> None:
    found = perturbed_text(text, Perturbation(typos=1))
    for word, new in zip(text.split(), found.split(), strict=True):
        assert (word != new) == any(char.isalpha() for char in word)
        assert abs(len(word) - len(new)) <= 1


@given(TEXTS)
def test_another_order_keeps_the_words(text: str) -> None:
    assert Counter(perturbed_text(text, Perturbation(shuffle=True)).split()) == Counter(
        text.split()
    )


def test_content_has_only_what_is_set() -> None:
    assert Perturbation().content == Perturbation(typos=0, shuffle=False).content == {}
    assert Perturbation(drop=0.1).content == {"drop": 0.1}
