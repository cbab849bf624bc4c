"""Examples of a task as batches of tokens.

Shapes: B examples, T tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset
from transformers import PreTrainedTokenizerFast

from harness.adaptation import Finetune
from harness.tasks.loading import Examples

POOL = 16
"""Batches whose examples are sorted by length together."""
SWAPPED = "swapped_"
"""Before the names of what a batch holds of the pairs in their other order."""

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Encoded:
    """Examples as token numbers: lists of different lengths."""

    input_ids: list[list[int]]
    token_type_ids: list[list[int]]
    labels: np.ndarray
    truncated: float
    """Share of the examples that lost tokens to `max_sequence_length`."""
    swapped: "Encoded | None" = None
    """The same pairs, the second text first."""


def encode(
    tokenizer: PreTrainedTokenizerFast,
    examples: Examples,
    max_sequence_length: int,
    both_orders: bool = False,
) -> Encoded:
    """One text or a pair per example in the tokenizer's own template, the longer text truncated
    first.

    The templates, [CLS] text [SEP] and [CLS] a [SEP] b [SEP] with such tokens as the tokenizer
    has, are the input transformations of Radford et al. 2018, section 3.3, too: start, text,
    extract; start, a, delimiter, b, extract.
    """
    columns = list(zip(*examples.texts, strict=True))
    out = tokenizer(
        *[list(column) for column in columns],
        truncation="longest_first",
        max_length=max_sequence_length,
        return_token_type_ids=True,
        return_attention_mask=False,
        return_overflowing_tokens=False,
    )
    lengths = np.array([len(ids) for ids in out["input_ids"]])
    swapped = None
    if both_orders and len(columns) == 2:
        turned = Examples([(b, a) for a, b in examples.texts], examples.labels)
        swapped = encode(tokenizer, turned, max_sequence_length)
    return Encoded(
        out["input_ids"],
        out["token_type_ids"],
        examples.labels,
        float((lengths == max_sequence_length).mean()),
        swapped,
    )


def collate(data: Encoded, rows: np.ndarray, pad_token_id: int) -> Batch:
    """The examples `rows`, padded on the right to the longest: input_ids, token_type_ids and
    attention_mask [B, T], labels [B]; and the same of the swapped pairs, if there are any."""
    longest = max(len(data.input_ids[row]) for row in rows)
    ids = np.full((len(rows), longest), pad_token_id, dtype=np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        length = len(data.input_ids[row])
        ids[i, :length] = data.input_ids[row]
        types[i, :length] = data.token_type_ids[row]
        mask[i, :length] = 1
    batch = {
        "input_ids": torch.from_numpy(ids),
        "token_type_ids": torch.from_numpy(types),
        "attention_mask": torch.from_numpy(mask),
        "labels": torch.from_numpy(data.labels[rows]),
    }
    if data.swapped:
        other = collate(data.swapped, rows, pad_token_id)
        batch |= {SWAPPED + name: value for name, value in other.items()}
    return batch


def orders(batch: Batch) -> list[Batch]:
    """The batch in each order that it holds its texts in: one or two."""
    swapped = {
        name.removeprefix(SWAPPED): value
        for name, value in batch.items()
        if name.startswith(SWAPPED)
    }
    return [batch, swapped] if swapped else [batch]


class TrainBatches(IterableDataset[Batch]):
    """All batches of all epochs; the seed alone decides what is in them and their order."""

    def __init__(self, data: Encoded, finetune: Finetune, pad_token_id: int, seed: int) -> None:
        self.data, self.finetune, self.pad_token_id, self.seed = data, finetune, pad_token_id, seed

    @property
    def num_steps(self) -> int:
        per_epoch = -(-len(self.data.labels) // self.finetune.batch_size)
        return per_epoch * self.finetune.epochs

    def __iter__(self) -> Iterator[Batch]:
        for epoch in range(self.finetune.epochs):
            for rows in self.order(epoch):
                yield collate(self.data, rows, self.pad_token_id)

    def order(self, epoch: int) -> list[np.ndarray]:
        """Rows of each batch: examples of like length together, so that little is padding.

        Random pools of POOL batches are sorted by length and cut; then the batches are shuffled.
        """
        generator = np.random.default_rng([self.seed, epoch])
        lengths = np.array([len(ids) for ids in self.data.input_ids])
        order = generator.permutation(len(lengths))
        size = self.finetune.batch_size
        pools = [order[i : i + size * POOL] for i in range(0, len(order), size * POOL)]
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        batches = [pool[i : i + size] for pool in pools for i in range(0, len(pool), size)]
        return [batches[i] for i in generator.permutation(len(batches))]
