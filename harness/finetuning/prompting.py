"""Zero- and few-shot prompting without training (Brown et al. 2020, section 2, for causal models;
Schick and Schütze 2021 for masked ones).

The task's pattern is filled with each answer; the answer with the highest likelihood is predicted,
without calibration.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerFast

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.data.tokenizers.loading import load_tokenizer
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
"""First and last token of a model input."""


def prompted(
    model: Path,
    tokenizer: Path,
    task: Task,
    protocol: Protocol,
    train: Examples | None,
    seed: int,
    compute: Compute = DEFAULT_COMPUTE,
) -> Predictor:
    """Predicts the answer with the highest likelihood in the task's prompt; of ties the first.

    Args:
        protocol: `num_fewshot` demonstrations precede the question.
        train: examples from which demonstrations are drawn.
        seed: of the draw.
        compute: its device.

    Raises:
        ValueError: the task has no prompt, or no examples for demonstrations; or two classes have
            the same tokens.
    """
    if task.prompt is None:
        raise ValueError(f"{task.name} has no prompt")
    if protocol.num_fewshot and train is None:
        raise ValueError(f"{task.name} has no train set for {protocol.num_fewshot} demonstrations")
    drawn = draw(train, protocol.num_fewshot, seed) if protocol.num_fewshot and train else None
    own = load_tokenizer(tokenizer)
    most = protocol.max_sequence_length - SPECIAL_TOKENS
    prompter = Prompter(task, task.prompt, own, most, drawn)
    prompter.check_answers()
    backbone, vocabulary = load(model), Vocabulary.load(tokenizer)

    def predict(examples: Examples) -> np.ndarray:
        texts = [prompter.texts(examples, row) for row in range(len(examples))]
        every = [text for some in texts for text in some]
        scores = log_likelihoods(backbone, vocabulary, every, compute)
        ends = np.cumsum([len(some) for some in texts])
        return np.array([s.argmax() for s in np.split(scores, ends[:-1])], dtype=np.float64)

    return predict


def draw(train: Examples, num_fewshot: int, seed: int) -> Examples:
    """`num_fewshot` examples in random order, balanced over classes (or positions of the right
    choice) up to one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(train))
    labels, _ = pd.factorize(train.labels[order])  # answers to questions have no order
    ranks = pd.Series(labels).groupby(labels).cumcount()
    chosen = order[np.argsort(ranks.to_numpy(), kind="stable")][:num_fewshot]
    return train.take(rng.permutation(chosen))


@dataclass(frozen=True)
class Prompter:
    """Fills the prompt pattern of a task."""

    task: Task
    prompt: Prompt
    tokenizer: PreTrainedTokenizerFast
    max_tokens: int
    """Most tokens of a text."""
    demonstrations: Examples | None = None
    """Solved examples before each question."""

    def check_answers(self) -> None:
        """Checks that the tokenizer tells the answers of the classes apart.

        Raises:
            ValueError: two have the same tokens, so that they are equally likely.
        """
        seen: dict[tuple[int, ...], str] = {}
        for answer in self.prompt.answers:
            text = self._text("", [""] * len(self.task.text_fields), answer)
            assert text.gap is not None
            other = seen.setdefault(text.tokens[slice(*text.gap)], answer)
            if other is not answer:
                raise ValueError(
                    f"{self.task.name} cannot be answered in its prompt: the tokenizer has the "
                    f"same tokens for {other!r} and {answer!r}"
                )

    def texts(self, examples: Examples, row: int) -> list[Text]:
        """One text for each answer to an example, with the position of the answer.

        Texts that are too long lose their longest demonstrations first; without any left, the
        longest text of the question is truncated at its end.

        Raises:
            ValueError: the prompt without its texts is too long, or an answer has no tokens.
        """
        answers = self._answers(examples, row)
        texts = list(examples.texts[row])
        shown = self._fitting(texts, answers)
        while (over := self._excess(shown, texts, answers)) > 0:
            if not any(lengths := [self._length(text) for text in texts]):
                raise ValueError(
                    f"protocol.max_sequence_length is too small for the prompt of {self.task.name} "
                    "and its answers; raise it"
                )
            longest = int(np.argmax(lengths))
            texts[longest] = self._shortened(texts[longest], over)
        before = " ".join((*shown, ""))
        return [self._text(before, texts, answer) for answer in answers]

    def _fitting(self, texts: Sequence[str], answers: Sequence[str]) -> list[str]:
        """The demonstrations that fit, without the longest ones."""
        shown = self._solved

        def without(number: int) -> list[str]:
            removed = set(self._longest[:number])
            return [text for index, text in enumerate(shown) if index not in removed]

        def fits(number: int) -> bool:
            return self._excess(without(number), texts, answers) <= 0

        return without(bisect_left(range(len(shown)), True, key=fits))

    @cached_property
    def _longest(self) -> list[int]:
        """Indices of the demonstrations, longest first."""
        lengths = [self._length(text) for text in self._solved]
        return sorted(range(len(lengths)), key=lambda index: -lengths[index])

    @cached_property
    def _solved(self) -> list[str]:
        """Texts of the demonstrations."""
        if (given := self.demonstrations) is None:
            return []
        return [
            "".join(self._filled(given.texts[i], self._answers(given, i)[int(label)]))
            for i, label in enumerate(given.labels)
        ]

    def _answers(self, examples: Examples, row: int) -> Sequence[str]:
        return self.prompt.answers or (examples.choices or [])[row]

    def _filled(self, texts: Sequence[str], answer: str) -> tuple[str, str, str]:
        """The text before the answer, the answer, and the text after it."""
        before, _, after = self.prompt.pattern.partition(ANSWER)
        fields = dict(zip(self.task.text_fields, texts, strict=True))
        return before.format(*texts, **fields), answer, after.format(*texts, **fields)

    def _text(self, demonstrations: str, texts: Sequence[str], answer: str) -> Text:
        """Tokens of the whole text; the target span has those that overlap the answer.

        Raises:
            ValueError: none does, as of an empty answer.
        """
        before, answer, after = self._filled(texts, answer)
        begin = len(demonstrations + before)
        end = begin + len(answer)
        found = self._tokenize(demonstrations + before + answer + after)
        inside = [i for i, (a, b) in enumerate(found["offset_mapping"]) if a < end and b > begin]
        if not inside:
            raise ValueError(
                f"{self.task.name} needs answers with tokens in its prompt, but {answer!r} has none"
            )
        return Text(tuple(found["input_ids"]), (inside[0], inside[-1] + 1))

    def _excess(
        self, demonstrations: Sequence[str], texts: Sequence[str], answers: Sequence[str]
    ) -> int:
        """Tokens by which the longest text exceeds `max_tokens`."""
        filled = [" ".join((*demonstrations, "".join(self._filled(texts, a)))) for a in answers]
        return max(map(self._length, filled)) - self.max_tokens

    def _length(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _shortened(self, text: str, by: int) -> str:
        """The text without its last `by` tokens; never splits a character."""
        ends = [end for _, end in self._tokenize(text)["offset_mapping"]]
        kept = ends[-by - 1] if by < len(ends) else 0
        return text[: min(kept, len(text) - 1)]

    def _tokenize(self, text: str) -> Mapping[str, list[Any]]:
        found: Mapping[str, list[Any]] = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True
        )
        return found
