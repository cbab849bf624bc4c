"""Answers that a causal network writes after solved examples, without training (Brown et al. 2020,
section 2: zero-, one- and few-shot)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from harness.core.compute import Compute
from harness.data.tokenizers.loading import load_tokenizer
from harness.finetuning.adaptation import Adaptation, Prompt
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.heads import verbaliser
from harness.finetuning.heads.text import TextOutput
from harness.finetuning.heads.text_codec import Tokens, fit
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Encoded, Ragged
from harness.finetuning.prompting import draw
from harness.finetuning.protocol import Protocol
from harness.finetuning.run import predict
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.build import load
from harness.pretraining.distributed import one_device
from harness.tasks.examples import Examples, column
from harness.tasks.task import Task

LINE_END = "\n"
ANSWER = "A:"
"""At the beginning of the line of an answer."""


class InContextAnswers(TextOutput):
    """A prompt of solved examples and a question; the answer is what is written on its line.

        question        the parts of the source, as in fine-tuning
        A: answer
        question
        A:

    Tokenizers without line ends have the end token after an answer, and nothing before "A:".
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        tokenizer: PreTrainedTokenizerFast,
        demonstrations: Examples | None,
    ) -> None:
        """Args: demonstrations: solved examples; null: none."""
        super().__init__(task, protocol, tokenizer)
        two_lines = self.codec.tokens([f"a{LINE_END}a"])[0]
        line_end = [token for token in two_lines if tokenizer.decode([token]) == LINE_END][:1]
        self.stop = line_end[0] if line_end else self.codec.end
        self.line_end, self.answer = line_end, [*line_end, *self.codec.tokens([ANSWER])[0]]
        self.solved = self._solved(demonstrations) if demonstrations else []
        self.adds_lines = False  # an answer is one line; its sentences get lines once it is cut

    def _solved(self, examples: Examples) -> list[Tokens]:
        """Tokens of each demonstration, with what ends it."""
        pairs = zip(examples.texts, examples.labels, strict=True)
        written = [
            (" ".join(verbaliser.source(self.task, texts)), verbaliser.target(self.task, label))
            for texts, label in pairs
        ]
        questions = self.codec.tokens([question for question, _ in written])
        lines = [answer.replace(LINE_END, " ") for _, answer in written]
        answers = self.codec.tokens([f"{ANSWER} {answer}" for answer in lines])
        return [
            [*question, *self.line_end, *answer, self.stop]
            for question, answer in zip(questions, answers, strict=True)
        ]

    def encode(self, examples: Examples) -> Encoded:
        """A row of tokens for each question, after the demonstrations that fit: the longest are
        dropped first, and a question that is too long alone is cut."""
        sources = [self._spaced(texts) for texts in examples.texts]
        made = [self._row(parts) for parts in self.codec.tokens_of_parts(sources)]
        rows = [row for row, _ in made]
        cut = np.array([was_cut for _, was_cut in made])
        none = Ragged.of([[self.codec.end]] * len(rows))
        types = Ragged.of([[0] * len(row) for row in rows])
        return Encoded(Ragged.of(rows), types, none, float(cut.mean()))

    def _spaced(self, texts: tuple[str, ...]) -> list[str]:
        """Parts of the question; GPT-2's tokenizer puts no space between them."""
        first, *others = verbaliser.source(self.task, texts)
        return [first, *(f" {part}" for part in others)]

    def _row(self, parts: Sequence[Tokens]) -> tuple[Tokens, bool]:
        """The prompt of a question, and whether it was cut."""
        room = self.protocol.max_sequence_length - len(self.codec.before) - len(self.answer)
        shown, length = list(self.solved), sum(map(len, parts))
        while shown and sum(map(len, shown)) + length > room:
            shown.remove(max(shown, key=len))
        question, was_cut = fit(parts, room - sum(map(len, shown)))
        solved = [token for one in shown for token in one]
        return [*self.codec.before, *solved, *question, *self.answer], was_cut

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The network with its own token head, which stops at the end of the line."""
        return TextModel(backbone, self.protocol, self.stop, self.pad_token_id)

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] first lines of the answers: a token may hold more than a line end."""
        found = super().predictions(decoded, data, examples)
        texts = [text.partition(LINE_END)[0].rstrip() for text in found]
        has_lines = "rougeLsum" in self.task.metrics
        return column([verbaliser.on_lines(text) for text in texts] if has_lines else texts)

    def decode(self, outputs: torch.Tensor, batch: Any) -> Sequence[Any]:
        """[B] tokens before the end of the line, from `outputs` [B, U]."""
        ends = {self.stop, self.codec.end}
        rows: list[Tokens] = outputs.tolist()
        lengths = [
            next((place for place, token in enumerate(row) if token in ends), len(row))
            for row in rows
        ]
        return [self.codec.before_the_end(row[:n]) for row, n in zip(rows, lengths, strict=True)]


def answered(
    model: Path,
    tokenizer: Path,
    task: Task,
    protocol: Protocol,
    train: Examples | None,
    seed: int,
    compute: Compute,
) -> Predictor:
    """Predicts the text that a network writes, computed in float32 as all prompts are.

    Args:
        protocol: `num_fewshot` demonstrations precede the question.
        train: examples from which demonstrations are drawn with `seed`.
        compute: its device.
    """
    number = protocol.num_fewshot
    drawn = draw(train, number, seed) if number and train else None
    own = load_tokenizer(tokenizer)
    head = InContextAnswers(task, protocol, own, drawn)
    network = head.make_model(load(model), Prompt())
    network = network.to(one_device(compute))
    return lambda examples: predict(network, head, head.encode(examples), examples)
