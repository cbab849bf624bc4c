"""Every kind of task as text to text (Raffel et al. 2020, section 2.4).

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
from harness.finetuning.heads.tagging import outside_tag
from harness.finetuning.heads.text_codec import TextCodec, fit
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples, column
from harness.tasks.task import Task

DIGITS = "0 1 2 3 4 5 6 7 8 9"


class TextOutput(TaskHead):
    """Source and target texts of `verbaliser`; of several gold texts the first is the target.

    Sources get the special tokens of the tokenizer's template and are truncated at the end of their
    longest part; targets end with the template's separator.
    """

    def __init__(self, task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__(task, protocol, tokenizer)
        self.codec = TextCodec(tokenizer)
        self.names = self.codec.distinct(self._names(), task.name)
        # Vocabularies trained on the microworld have no digits; letters then stand for them.
        self.has_digits = verbaliser.normalise(self.codec.round_trip(DIGITS)) == DIGITS
        # WordPiece and Unigram read a line end as a space.
        keeps_lines = self.codec.round_trip("a\na") == "a\na"
        self.adds_lines = "rougeLsum" in task.metrics and not keeps_lines

    def encode(self, examples: Examples) -> Encoded:
        """Source rows, and target tokens as targets."""
        choices: Sequence[tuple[str, ...] | None] = examples.choices or [None] * len(examples)
        sources = [
            verbaliser.source(self.task, texts, some)
            for texts, some in zip(examples.texts, choices, strict=True)
        ]
        targets = [
            self._target(label, some) for label, some in zip(examples.labels, choices, strict=True)
        ]
        room = self.protocol.max_sequence_length - len(self.codec.framed([]))
        fitted = [fit(parts, room) for parts in self.codec.tokens_of_parts(sources)]
        rows = [self.codec.framed(tokens) for tokens, _ in fitted]
        cut = np.array([was_cut for _, was_cut in fitted])
        most = self.protocol.max_target_length - 1
        ends = [[*tokens[:most], self.codec.end] for tokens in self.codec.tokens(targets)]
        types = [[0] * len(row) for row in rows]
        return Encoded(Ragged.of(rows), Ragged.of(types), Ragged.of(ends), float(cut.mean()))

    def _names(self) -> Sequence[str]:
        """Target texts of the classes or tags."""
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
        """Mean cross-entropy of logits [M, V] over the target tokens, including the end token."""
        targets = batch["target_ids"][batch["target_mask"].bool()]
        return F.cross_entropy(outputs.float(), targets)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with its own token head.

        Raises:
            ValueError: the backbone is frozen or does not generate text.
        """
        if adaptation.kind == "frozen":
            raise ValueError(
                f"{self.task.name} is answered as text, which a frozen model cannot learn; set "
                "evaluate.adaptation to full"
            )
        return TextModel(backbone, self.protocol, self.codec.end, self.pad_token_id)

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        """[B] generated tokens of each item."""
        assert isinstance(model, TextModel)
        return self.decode(model.write(batch), batch)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] generated tokens before the end token, from `outputs` [B, U]."""
        return [self.codec.before_the_end(row) for row in outputs.tolist()]

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] predictions parsed from the generated tokens."""
        kind = self.task.kind
        if kind == "tagging":
            names = [tuple(tokens) for tokens in self.names]
            sizes, missing = map(len, examples.texts), outside_tag(self.task.labels)
            pairs = zip(decoded, sizes, strict=True)
            return column([verbaliser.tags_of(row, names, size, missing) for row, size in pairs])
        if kind in ("extraction", "generation"):
            texts = [self.codec.text(tokens) for tokens in decoded]
            return column([verbaliser.on_lines(t) for t in texts] if self.adds_lines else texts)
        texts = [self.codec.text(tokens, with_unknown=True) for tokens in decoded]
        return np.array(self._numbers(texts, examples), dtype=np.float64)

    def _numbers(self, texts: Sequence[str], examples: Examples) -> list[float]:
        """Class indices, values or choice indices."""
        if self.task.kind == "classification":
            names = [self.codec.text(tokens, with_unknown=True) for tokens in self.names]
            return [verbaliser.index_of(text, names) for text in texts]
        if self.task.kind == "regression":
            if not self.has_digits:
                texts = [verbaliser.normalise(text).translate(verbaliser.DIGITS) for text in texts]
            return [verbaliser.value_of(text) for text in texts]
        found: list[float] = []
        for text, choices in zip(texts, examples.choices or (), strict=True):
            written = [self.codec.round_trip(choice.lower()) for choice in choices]
            found.append(verbaliser.choice_of(text, written))
        return found
