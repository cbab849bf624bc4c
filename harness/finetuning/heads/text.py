"""Tasks answered in words: every kind as text to text (Raffel et al. 2020, section 2.4).

Shapes: B examples, U target tokens, M target tokens of a batch, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads import verbaliser
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.text_codec import TextCodec, fit
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples
from harness.tasks.task import Task

DIGITS = "0 1 2 3 4 5 6 7 8 9"


class TextOutput(TaskHead):
    """Source and target as `verbalising` puts them; the first right text is trained on.

    Sources stand between the special tokens of the tokenizer's template (T5's has none before a
    text), and lose tokens from the end of their longest part if they are too long; targets end with
    its separator.
    """

    def __init__(self, task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__(task, protocol, tokenizer)
        self.speller = TextCodec(tokenizer)
        self.names = self.speller.distinct(self._names(), task.name)
        # The embedded world has no digits: its WordPiece and Unigram write letters in their place.
        self.has_digits = verbaliser.normalise(self.speller.spelled(DIGITS)) == DIGITS
        # To WordPiece and Unigram a line end is but a space.
        keeps_lines = self.speller.spelled("a\na") == "a\na"
        self.adds_lines = "rougeLsum" in task.metrics and not keeps_lines

    @property
    def num_outputs(self) -> int:
        return len(self.tokenizer)

    def encode(self, examples: Examples) -> Encoded:
        choices = _choices(examples)
        sources = [
            verbaliser.source(self.task, texts, some)
            for texts, some in zip(examples.texts, choices, strict=True)
        ]
        targets = [
            self._target(label, some) for label, some in zip(examples.labels, choices, strict=True)
        ]
        room = self.protocol.max_sequence_length - len(self.speller.framed([]))
        fitted = [fit(parts, room) for parts in self.speller.tokens_of_parts(sources)]
        rows = [self.speller.framed(tokens) for tokens, _ in fitted]
        cut = np.array([was_cut for _, was_cut in fitted])
        most = self.protocol.max_target_length - 1
        ends = [[*tokens[:most], self.speller.end] for tokens in self.speller.tokens(targets)]
        types = [[0] * len(row) for row in rows]
        return Encoded(Ragged.of(rows), Ragged.of(types), Ragged.of(ends), float(cut.mean()))

    def _names(self) -> Sequence[str]:
        """Of classes or tags, as they are written."""
        if self.task.kind == "classification":
            return verbaliser.class_names(self.task)
        return self.task.labels if self.task.kind == "tagging" else ()

    def _target(self, label: Any, choices: Sequence[str] | None) -> str:
        text = verbaliser.target(self.task, label, choices)
        if self.task.kind == "regression" and not self.has_digits:
            return text.translate(verbaliser.LETTERS)
        return text

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`target_ids` and `target_mask` [B, U]."""
        assert isinstance(data.targets, Ragged)
        rows = [torch.from_numpy(data.targets[item].astype(np.int64)) for item in items]
        padded = torch.nn.utils.rnn.pad_sequence(
            rows, batch_first=True, padding_value=self.pad_token_id
        )
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
        return {"target_ids": padded, "target_mask": mask}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy over the target tokens, the end included, of logits [M, V]."""
        right = batch["target_ids"][batch["target_mask"].bool()]
        return F.cross_entropy(outputs.float(), right)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The network with its own token head.

        Raises:
            ValueError: it is frozen, or writes no text.
        """
        if adaptation.kind == "frozen":
            raise ValueError(
                f"{self.task.name} is answered in words, which a frozen model cannot learn; set "
                "evaluate.adaptation to full"
            )
        return TextModel(backbone, self.protocol, self.speller.end, self.pad_token_id)

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        assert isinstance(model, TextModel)
        return self.decode(model.write(batch), batch)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] tokens before the end, of what was written [B, U]."""
        return [self.speller.before_the_end(row) for row in outputs.tolist()]

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        kind = self.task.kind
        if kind == "tagging":
            return _objects(self._tags(decoded, examples))
        if kind in ("extraction", "generation"):
            texts = [self.speller.text(tokens) for tokens in decoded]
            return _objects([verbaliser.on_lines(t) for t in texts] if self.adds_lines else texts)
        texts = [self.speller.text(tokens, with_unknown=True) for tokens in decoded]
        return np.array(self._numbers(texts, examples), dtype=np.float64)

    def _tags(self, decoded: Sequence[Any], examples: Examples) -> list[tuple[int, ...]]:
        names = [tuple(tokens) for tokens in self.names]
        both = zip(decoded, examples.texts, strict=True)
        return [verbaliser.tags_of(tokens, names, len(words)) for tokens, words in both]

    def _numbers(self, texts: Sequence[str], examples: Examples) -> list[float]:
        """Classes, values or choices."""
        if self.task.kind == "classification":
            names = [self.speller.text(tokens, with_unknown=True) for tokens in self.names]
            return [verbaliser.place_of(text, names) for text in texts]
        if self.task.kind == "regression":
            return [self._value(text) for text in texts]
        both = zip(texts, _choices(examples), strict=True)
        return [self._choice(text, choices or ()) for text, choices in both]

    def _choice(self, text: str, choices: Sequence[str]) -> int:
        spelled = [self.speller.spelled(choice.lower()) for choice in choices]
        return verbaliser.choice_of(text, spelled)

    def _value(self, text: str) -> float:
        if not self.has_digits:
            text = verbaliser.normalise(text).translate(verbaliser.DIGITS)
        return verbaliser.value_of(text)


def _choices(examples: Examples) -> Sequence[tuple[str, ...] | None]:
    return examples.choices or [None] * len(examples)


def _objects(values: Sequence[Any]) -> np.ndarray:
    """[num_values] as they are, even where each is a tuple."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array
