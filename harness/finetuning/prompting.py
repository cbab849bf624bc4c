"""Pretrained models asked in words, without training: zero and a few examples (Brown et al. 2020,
section 2, for models that continue a text; Schick and Schütze 2021 for those that fill gaps).

The task's pattern is filled with each answer, and the likeliest text wins. Nothing is calibrated.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerFast

from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.protocol import Protocol
from harness.models.build import load
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.pretraining.scoring.requests import Text
from harness.tasks.examples import Examples
from harness.tasks.task import Prompt, Task

ANSWER = "{answer}"
SPECIAL_TOKENS = 2
"""First and last token of what a model reads."""


def prompted(
    model: Path,
    tokenizer: Path,
    task: Task,
    protocol: Protocol,
    train: Examples | None,
    seed: int,
) -> Predictor:
    """The answer whose words are likeliest in the task's prompt, after `protocol.num_fewshot`
    solved examples of `train`, drawn by `seed`; of equals the first.

    Raises:
        ValueError: the task has no prompt, or nothing to draw solved examples from.
    """
    if task.prompt is None:
        raise ValueError(f"{task.name} has no prompt")
    if protocol.num_fewshot and train is None:
        raise ValueError(
            f"{task.name} has no train set for its {protocol.num_fewshot} solved examples"
        )
    shown = draw(train, protocol.num_fewshot, seed) if protocol.num_fewshot and train else None
    splitter = PreTrainedTokenizerFast.from_pretrained(tokenizer)
    asker = Prompter(
        task, task.prompt, splitter, protocol.max_sequence_length - SPECIAL_TOKENS, shown
    )
    backbone, vocabulary = load(model), Vocabulary.load(tokenizer)

    def predict(examples: Examples) -> np.ndarray:
        texts = [asker.texts(examples, row) for row in range(len(examples))]
        scores = log_likelihoods(backbone, vocabulary, [text for some in texts for text in some])
        ends = np.cumsum([len(some) for some in texts])
        return np.array([s.argmax() for s in np.split(scores, ends[:-1])], dtype=np.float64)

    return predict


def draw(train: Examples, num_fewshot: int, seed: int) -> Examples:
    """`num_fewshot` examples in random order, of each class as many as of any other, to within one.

    Right choices count as classes: none of their places is shown more often.
    """
    dice = np.random.default_rng(seed)
    order = dice.permutation(len(train))
    seen: dict[int, int] = {}
    ranks = []
    for label in train.labels[order].tolist():
        ranks.append(seen.get(label, 0))
        seen[label] = ranks[-1] + 1
    chosen = order[np.argsort(ranks, kind="stable")][:num_fewshot]
    return train.take(dice.permutation(chosen))


@dataclass(frozen=True)
class Prompter:
    """Fills the pattern of a task."""

    task: Task
    prompt: Prompt
    splitter: PreTrainedTokenizerFast
    room: int
    """Tokens of a text, at most."""
    shown: Examples | None = None
    """Solved examples that stand before each question."""

    def texts(self, examples: Examples, row: int) -> list[Text]:
        """One text for each answer to an example, with the answer's place.

        Where there is no room, the longest solved example goes first; when none is left, the
        longest text of the question is cut at its end.
        """
        answers = self._answers(examples, row)
        texts = list(examples.texts[row])
        shown = self._fitting(texts, answers)
        while (over := self._over(shown, texts, answers)) > 0:
            if not any(lengths := [self._length(text) for text in texts]):
                raise ValueError(
                    f"protocol.max_sequence_length has no room for the prompt of {self.task.name} "
                    "and its answers"
                )
            longest = int(np.argmax(lengths))
            texts[longest] = self._shortened(texts[longest], over)
        before = " ".join((*shown, ""))
        return [self._text(before, texts, answer) for answer in answers]

    def _fitting(self, texts: Sequence[str], answers: Sequence[str]) -> list[str]:
        """The solved examples that there is room for, without the longest ones."""
        shown = self._demonstrations

        def without(number: int) -> list[str]:
            gone = set(self._longest[:number])
            return [text for place, text in enumerate(shown) if place not in gone]

        def fits(number: int) -> bool:
            return self._over(without(number), texts, answers) <= 0

        return without(bisect_left(range(len(shown)), True, key=fits))

    @cached_property
    def _longest(self) -> list[int]:
        """Places of the solved examples, the longest first."""
        lengths = [self._length(text) for text in self._demonstrations]
        return sorted(range(len(lengths)), key=lambda place: -lengths[place])

    @cached_property
    def _demonstrations(self) -> tuple[str, ...]:
        if self.shown is None:
            return ()
        return tuple(
            "".join(self._filled(self.shown.texts[i], self._answers(self.shown, i)[int(label)]))
            for i, label in enumerate(self.shown.labels)
        )

    def _answers(self, examples: Examples, row: int) -> Sequence[str]:
        return self.prompt.answers or (examples.choices or [])[row]

    def _filled(self, texts: Sequence[str], answer: str) -> tuple[str, str, str]:
        """What stands before the answer, the answer, and what follows."""
        before, _, after = self.prompt.pattern.partition(ANSWER)
        fields = self._fields(texts)
        return before.format(*texts, **fields), answer, after.format(*texts, **fields)

    def _fields(self, texts: Sequence[str]) -> Mapping[str, str]:
        """Texts by name; one made by a pattern has none, but its place, as all have."""
        return dict(zip(self.task.text_fields, texts, strict=True))

    def _text(self, demonstrations: str, texts: Sequence[str], answer: str) -> Text:
        """Tokens of all of it; the gap has those that share a character with the answer."""
        before, answer, after = self._filled(texts, answer)
        begin = len(demonstrations + before)
        end = begin + len(answer)
        found = self._split(demonstrations + before + answer + after)
        inside = [i for i, (a, b) in enumerate(found["offset_mapping"]) if a < end and b > begin]
        return Text(tuple(found["input_ids"]), (inside[0], inside[-1] + 1))

    def _over(
        self, demonstrations: Sequence[str], texts: Sequence[str], answers: Sequence[str]
    ) -> int:
        """Tokens that the longest text has too many."""
        filled = [" ".join((*demonstrations, "".join(self._filled(texts, a)))) for a in answers]
        return max(map(self._length, filled)) - self.room

    def _length(self, text: str) -> int:
        return len(self.splitter(text, add_special_tokens=False)["input_ids"])

    def _shortened(self, text: str, by: int) -> str:
        """Without its last `by` tokens; the bytes of one character go together."""
        ends = [b for _, b in self._split(text)["offset_mapping"]]
        kept = ends[-by - 1] if by < len(ends) else 0
        return text[: min(kept, len(text) - 1)]

    def _split(self, text: str) -> Mapping[str, list[Any]]:
        found: Mapping[str, list[Any]] = self.splitter(
            text, add_special_tokens=False, return_offsets_mapping=True
        )
        return found
