"""Noise in the examples that are reported: typos, dropped words, another order of the words.

The same text gets the same noise in every arm and run, and a higher rate adds to the noise of a
lower one.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from string import ascii_lowercase
from typing import Any

import numpy as np
from pydantic import Field

from harness.core.config import ConfigModel
from harness.tasks.examples import Examples
from harness.tasks.task import Task

ALIGNED = {
    "extraction": "spans of the text",
    "tagging": "tags of its words",
    "coreference": "mentions of its words",
}
"""Kind of task whose labels are places in the text, to these labels."""
WORD = re.compile(r"\S+")
Rate = Field(default=0.0, ge=0, le=1)


class Perturbation(ConfigModel):
    """Noise in the reported examples; training examples and hold-out stay as they are."""

    typos: float = Rate
    """Share of the words with a typo: two letters in the other order, a letter less, or another
    letter (as Belinkov and Bisk 2018; Pruthi et al. 2019)."""
    drop: float = Rate
    """Share of the words that are left out; one remains of each text."""
    shuffle: bool = False
    """Whether the words of each text are in random order."""

    @property
    def content(self) -> dict[str, Any]:
        """The noise as plain data; empty if there is none."""
        return self.model_dump(exclude_defaults=True)


def perturbed(examples: Examples, noise: Perturbation) -> Examples:
    """The examples with noise in their texts; labels and choices stay as they are."""
    texts = [
        tuple(perturbed_text(text, noise, place) for place, text in enumerate(of_example))
        for of_example in examples.texts
    ]
    return replace(examples, texts=texts)


def perturbed_text(text: str, noise: Perturbation, place: int = 0) -> str:
    """A text with noise; without any in it, the text itself.

    Args:
        place: of the text in its example: equal texts of a pair get different noise.
    """
    words = len(text.split())

    def draws(name: str, *shape: int) -> np.ndarray:
        """Uniform numbers in [0, 1) that depend on the original text."""
        seed = hashlib.sha256(f"{name}/{place}/{text}".encode()).digest()
        return np.random.default_rng(list(seed)).random(shape)

    found = text
    if noise.typos:
        found = _with_typos(found, noise.typos, draws("typos", words, 4))
    if noise.drop:
        found = _without_words(found, noise.drop, draws("drop", words))
    if noise.shuffle:
        left = found.split()
        found = " ".join(left[i] for i in draws("shuffle", len(left)).argsort())
    return found


def _with_typos(text: str, rate: float, draws: np.ndarray) -> str:
    """The text with a typo in each word whose first draw is below the rate.

    Args:
        draws: [num_words, 4], of which the last three choose the typo.
    """
    rows = iter(draws)

    def changed(match: re.Match[str]) -> str:
        chance, *choice = next(rows).tolist()
        return with_typo(match[0], *choice) if chance < rate else match[0]

    return WORD.sub(changed, text)


def with_typo(word: str, kind: float, place: float, letter: float) -> str:
    """A word with one typo; without letters, the word itself.

    Args:
        kind, place, letter: in [0, 1), which choose the kind of the typo among those that are
            possible, its place, and the new letter.
    """
    letters = [i for i, char in enumerate(word) if char.isalpha()]
    if not letters:
        return word
    pairs = [i for i, j in pairwise(letters) if j == i + 1 and word[i] != word[j]]
    options: list[tuple[Callable[[str, int, float], str], list[int]]] = [(_replaced, letters)]
    options += [(_deleted, letters)] if len(letters) > 1 else []
    options += [(_swapped, pairs)] if pairs else []
    change, places = _chosen(options, kind)
    return change(word, _chosen(places, place), letter)


def _chosen(options: list[Any], draw: float) -> Any:
    """The option at a draw in [0, 1)."""
    return options[int(draw * len(options))]


def _replaced(word: str, i: int, letter: float) -> str:
    others = ascii_lowercase.replace(word[i].lower(), "")
    new = _chosen(list(others), letter)
    return word[:i] + (new.upper() if word[i].isupper() else new) + word[i + 1 :]


def _deleted(word: str, i: int, _: float) -> str:
    return word[:i] + word[i + 1 :]


def _swapped(word: str, i: int, _: float) -> str:
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _without_words(text: str, rate: float, draws: np.ndarray) -> str:
    """The text without the words whose draw [num_words] is below the rate, or with the one of the
    highest draw."""
    words = text.split()
    kept = [word for word, draw in zip(words, draws, strict=True) if draw >= rate]
    if len(kept) == len(words):
        return text
    return " ".join(kept or [words[int(draws.argmax())]])


def alignment_problem(task: Task) -> str:
    """Why the texts of a task cannot be perturbed; empty if they can."""
    if task.kind not in ALIGNED:
        return ""
    return f"the labels of {task.name} are {ALIGNED[task.kind]}"
