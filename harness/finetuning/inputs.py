"""Examples of a task as batches of tokens.

Shapes: B items, R rows of tokens, T tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset
from transformers import PreTrainedTokenizerFast

from harness.finetuning.protocol import Finetune

POOL = 16
"""Batches whose items are sorted by length together."""
SWAPPED = "swapped_"
"""Before the names of what a batch holds of the pairs in their other order."""

Batch = dict[str, Tensor]
Collate = Callable[["Encoded", np.ndarray], Batch]
"""Data and the numbers of some of its items to a batch of them."""


@dataclass(frozen=True)
class Ragged:
    """Rows of whole numbers of different lengths, in one array: quick to save and to slice."""

    values: np.ndarray
    """[total] the rows one after the other."""
    offsets: np.ndarray
    """[num_rows + 1] where each begins, and the end."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        values = np.fromiter((v for row in rows for v in row), np.int64, int(lengths.sum()))
        return cls(values.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        values: np.ndarray = self.values[self.offsets[row] : self.offsets[row + 1]]
        return values

    @property
    def lengths(self) -> np.ndarray:
        """[num_rows]"""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Encoded:
    """Examples as token numbers. An item is what batches are made of: one row of tokens, or the
    rows that are read side by side (a question with each of its choices); a long example may be
    several items (windows of a document)."""

    input_ids: Ragged
    """[R] rows."""
    token_type_ids: Ragged
    """[R] rows of the same lengths: 0 for a first text, 1 for a second."""
    targets: np.ndarray | Ragged
    """[num_items] what the answers are compared with in training."""
    truncated: float
    """Share of the examples that lost tokens to `max_sequence_length`."""
    first_rows: np.ndarray | None = None
    """[num_items + 1] where the rows of each item begin, and the end; none: a row each."""
    owners: np.ndarray | None = None
    """[num_items] number of the example that an item is of; none: an item each."""
    positions: Ragged | None = None
    """[R] rows: what turns answers about tokens into answers about texts, as a head needs it."""
    swapped: "Encoded | None" = None
    """The same pairs, the second text first."""

    @property
    def num_items(self) -> int:
        return len(self.input_ids) if self.first_rows is None else len(self.first_rows) - 1

    @property
    def lengths(self) -> np.ndarray:
        """[num_items] tokens of the longest row of each."""
        lengths = self.input_ids.lengths
        return (
            lengths
            if self.first_rows is None
            else np.maximum.reduceat(lengths, self.first_rows[:-1])
        )

    def rows(self, items: np.ndarray) -> np.ndarray:
        """Numbers of the rows of `items`, one after the other."""
        if self.first_rows is None:
            return items
        spans = [np.arange(self.first_rows[i], self.first_rows[i + 1]) for i in items]
        return np.concatenate(spans)

    def save(self, path: Path) -> None:
        """Writes all of it as one npz file."""
        with path.open("wb") as file:
            np.savez(file, **self._arrays())  # type: ignore[arg-type]

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Encoded):
                arrays |= {f"{SWAPPED}{name}": array for name, array in value._arrays().items()}
            elif isinstance(value, Ragged):
                arrays |= {f"{field.name}.values": value.values}
                arrays |= {f"{field.name}.offsets": value.offsets}
            elif value is not None:
                arrays[field.name] = np.asarray(value)
        return arrays

    @classmethod
    def load(cls, path: Path) -> "Encoded":
        """What `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls._of({name: arrays[name] for name in arrays})

    @classmethod
    def _of(cls, arrays: dict[str, np.ndarray]) -> "Encoded":
        found: dict[str, Any] = {"truncated": float(arrays.pop("truncated"))}
        other = {name: array for name, array in arrays.items() if name.startswith(SWAPPED)}
        for name in arrays.keys() - other.keys():
            field, _, part = name.partition(".")
            if not part:
                found[field] = arrays[name]
            elif part == "values":
                found[field] = Ragged(arrays[name], arrays[f"{field}.offsets"])
        if other:
            found["swapped"] = cls._of({n.removeprefix(SWAPPED): a for n, a in other.items()})
        return cls(**found)


def tokenize(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]], max_sequence_length: int
) -> tuple[Ragged, Ragged, np.ndarray]:
    """One text or a pair per row in the tokenizer's own template, the longer text truncated first:
    input_ids, token_type_ids, and [num_rows] whether a row is as long as it may be.

    The templates, [CLS] text [SEP] and [CLS] a [SEP] b [SEP] with such tokens as the tokenizer
    has, are the input transformations of Radford et al. 2018, section 3.3, too: start, text,
    extract; start, a, delimiter, b, extract.
    """
    out = tokenizer(
        *[list(column) for column in zip(*texts, strict=True)],
        truncation="longest_first",
        max_length=max_sequence_length,
        return_token_type_ids=True,
        return_attention_mask=False,
        return_overflowing_tokens=False,
    )
    input_ids = Ragged.of(out["input_ids"])
    full = input_ids.lengths == max_sequence_length
    return input_ids, Ragged.of(out["token_type_ids"]), full


def pad_rows(data: Encoded, rows: np.ndarray, pad_token_id: int) -> Batch:
    """The rows padded on the right to the longest: input_ids, token_type_ids and attention_mask
    [R, T]."""
    lengths = data.input_ids.lengths[rows]
    ids = np.full((len(rows), int(lengths.max())), pad_token_id, dtype=np.int64)
    types = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : lengths[i]] = data.input_ids[row]
        types[i, : lengths[i]] = data.token_type_ids[row]
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    return {
        "input_ids": torch.from_numpy(ids),
        "token_type_ids": torch.from_numpy(types),
        "attention_mask": torch.from_numpy(mask.astype(np.int64)),
    }


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

    def __init__(self, data: Encoded, finetune: Finetune, collate: Collate, seed: int) -> None:
        self.data, self.finetune, self.collate, self.seed = data, finetune, collate, seed

    @property
    def num_steps(self) -> int:
        per_epoch = -(-self.data.num_items // self.finetune.batch_size)
        return per_epoch * self.finetune.epochs

    def __iter__(self) -> Iterator[Batch]:
        for epoch in range(self.finetune.epochs):
            for items in self.order(epoch):
                yield self.collate(self.data, items)

    def order(self, epoch: int) -> list[np.ndarray]:
        """Items of each batch: those of like length together, so that little is padding.

        Random pools of POOL batches are sorted by length and cut; then the batches are shuffled.
        """
        generator = np.random.default_rng([self.seed, epoch])
        lengths = self.data.lengths
        order = generator.permutation(len(lengths))
        size = self.finetune.batch_size
        pools = [order[i : i + size * POOL] for i in range(0, len(order), size * POOL)]
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        batches = [pool[i : i + size] for pool in pools for i in range(0, len(pool), size)]
        return [batches[i] for i in generator.permutation(len(batches))]
