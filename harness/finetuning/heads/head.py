"""The interface of task heads: inputs, loss and predictions of one kind of task.

Shapes: B items, R rows of tokens, T tokens, C outputs.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import BatchEncoding, PreTrainedTokenizerFast

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.inputs import SWAPPED, Batch, Encoded, Ragged, pad_rows
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples
from harness.tasks.task import Task


class TaskHead(ABC):
    """A task under a protocol: from examples to batches, from outputs to predictions."""

    per_token = False
    """Whether outputs are computed per token instead of per input."""
    reads_documents = False
    """Whether an item has as many rows as its document needs, without a limit."""

    def __init__(self, task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> None:
        self.task, self.protocol, self.tokenizer = task, protocol, tokenizer
        self.pad_token_id = int(tokenizer.pad_token_id)

    @property
    def num_outputs(self) -> int:
        """Output size C of the linear layer: one for each label of the task."""
        return len(self.task.labels)

    @abstractmethod
    def encode(self, examples: Examples) -> Encoded:
        """The examples as token ids: a function of the examples alone, so that it can be cached."""

    def tokenized(
        self,
        texts: Sequence[tuple[str, ...]],
        targets: np.ndarray,
        first_rows: np.ndarray | None = None,
    ) -> Encoded:
        """One text or a pair per row in the tokenizer's template, the longer text truncated first.

        The templates ([CLS] text [SEP] and [CLS] a [SEP] b [SEP], with the special tokens of the
        tokenizer) match the input transformations of Radford et al. 2018, section 3.3.

        Args:
            texts: [R] rows.
            targets: [num_items].
            first_rows: [num_items + 1] as in `Encoded`.
        """
        return self.encoded(self.in_template(texts), targets, first_rows)

    def in_template(self, texts: Sequence[tuple[str, ...]]) -> BatchEncoding:
        """The tokenizer's output for [R] rows of texts."""
        return self.tokenizer(
            *[list(column) for column in zip(*texts, strict=True)],
            truncation="longest_first",
            max_length=self.protocol.max_sequence_length,
            return_token_type_ids=True,
            return_attention_mask=False,
            return_overflowing_tokens=False,
        )

    def encoded(
        self, out: BatchEncoding, targets: np.ndarray, first_rows: np.ndarray | None = None
    ) -> Encoded:
        """The tokenizer's output for [R] rows as items; arguments as of `tokenized`."""
        most = self.protocol.max_sequence_length
        ids, types = Ragged.of(out["input_ids"]), Ragged.of(out["token_type_ids"])
        full = ids.lengths == most
        if first_rows is not None:
            full = np.logical_or.reduceat(full, first_rows[:-1])
        return Encoded(ids, types, targets, float(full.mean()), first_rows)

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Scalar mean loss of a batch.

        Args:
            outputs: of the model for `batch`: [B, C], [R, C], or [B, T, C] per token.
        """

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[N] difference of each decision between two outputs of the model for `batch`, for
        `finetune.sift_weight`.

        Raises:
            ValueError: outputs are not those of an output layer that names classes or values.
        """
        raise ValueError(
            "finetune.sift_weight needs outputs that are classes, places or values, but those of "
            f"{self.task.name} are not; leave it out"
        )

    @abstractmethod
    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] decoded output of each item, in the format that `predictions` takes."""

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] predictions: float64 classes, choices or values, or objects (texts, tuples
        of tag indices).

        Args:
            decoded: of each item of `data`.
        """
        return np.asarray(decoded, dtype=np.float64)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with a new output layer."""
        return Classifier(backbone, self.num_outputs, self.protocol, adaptation, self.per_token)

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        """[B] decoded output of each item of a batch."""
        return self.decode(model(batch).float(), batch)

    def collate(self, data: Encoded, items: np.ndarray) -> Batch:
        """A batch of `items` [B]: padded rows [R, T], targets, and the padded rows of swapped pairs
        if `data` has them."""
        batch = pad_rows(data, data.rows(items), self.pad_token_id)
        if data.swapped:
            other = pad_rows(data.swapped, data.rows(items), self.pad_token_id)
            batch |= {SWAPPED + name: value for name, value in other.items()}
        return batch | self.labels(data, items, batch)

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """Targets [B] of `items` [B], and further inputs of the loss."""
        assert isinstance(data.targets, np.ndarray)
        return {"labels": torch.from_numpy(data.targets[items])}
