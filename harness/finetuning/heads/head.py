"""How tasks of one kind are put to a network, and how it answers.

Shapes: B items, R rows of tokens, T tokens, C outputs.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.inputs import SWAPPED, Batch, Encoded, pad_rows
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples
from harness.tasks.task import Task


class TaskHead(ABC):
    """One kind of task under one protocol: from examples to batches, from outputs to answers."""

    per_token = False
    """Whether the head reads the state of every token, and not one vector of them all."""

    def __init__(self, task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> None:
        self.task, self.protocol, self.tokenizer = task, protocol, tokenizer
        self.pad_token_id = int(tokenizer.pad_token_id)

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """Numbers that the head gives for each vector it reads (C)."""

    @abstractmethod
    def encode(self, examples: Examples) -> Encoded:
        """The examples as token numbers; a function of the examples, so that it can be cached."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean loss of a batch, from what the model gives for it."""

    @abstractmethod
    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] what the outputs say of each item."""

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] predictions, from what was read of each item of `data`: float64, or
        objects (a text; a tuple of tag numbers)."""
        return np.asarray(decoded, dtype=np.float64)

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The network with what it needs to answer."""
        return Classifier(backbone, self.num_outputs, self.protocol, adaptation, self.per_token)

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        """[B] what the model says of each item, without training."""
        return self.decode(model(batch).float(), batch)

    def collate(self, data: Encoded, items: np.ndarray) -> Batch:
        """The rows of the items, padded; `labels`, and whatever else a head adds; and the same of
        the swapped pairs, if there are any."""
        batch = pad_rows(data, data.rows(items), self.pad_token_id)
        if data.swapped:
            other = pad_rows(data.swapped, data.rows(items), self.pad_token_id)
            batch |= {SWAPPED + name: value for name, value in other.items()}
        return batch | self.labels(data, items, batch)

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """What the loss needs beside the rows."""
        assert isinstance(data.targets, np.ndarray)
        return {"labels": torch.from_numpy(data.targets[items])}
