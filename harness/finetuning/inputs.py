"""Encoded examples, and batches of them.

Shapes: B items, R rows of tokens, T tokens.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from harness.finetuning.protocol import Finetune

SWAPPED = "swapped_"
"""Prefix of batch keys for pairs in swapped order."""

Batch = dict[str, Tensor]
"""Name to tensor, rows padded on the right."""
Collate = Callable[["Encoded", np.ndarray], Batch]
"""(data, indices of items) to a batch."""


@dataclass(frozen=True)
class Ragged:
    """Integer rows of different lengths in one array."""

    values: np.ndarray
    """[total] concatenated rows, int32."""
    offsets: np.ndarray
    """[num_rows + 1] start of each row, and the end."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """From lists."""
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
        """[num_rows] length of each row."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Encoded:
    """Examples as token ids, split into items, the units of batches.

    An item is one row of tokens, or several rows (a question with each of its choices); a long
    example may have several items (windows).
    """

    input_ids: Ragged
    """[R] rows."""
    token_type_ids: Ragged
    """[R] rows of the same lengths: 0 for the first text, 1 for the second."""
    targets: np.ndarray | Ragged
    """[num_items] training targets."""
    truncated: float
    """Share of the examples that lost tokens to `max_sequence_length`."""
    first_rows: np.ndarray | None = None
    """[num_items + 1] first row of each item, and the end; null: one row per item."""
    owners: np.ndarray | None = None
    """[num_items] index of each item's example; null: one item per example."""
    positions: Ragged | None = None
    """[R] rows that map tokens to words or characters, in the format of the head."""
    swapped: "Encoded | None" = None
    """The same pairs with the second text first."""

    @property
    def num_items(self) -> int:
        """Number of items."""
        return len(self.input_ids) if self.first_rows is None else len(self.first_rows) - 1

    @property
    def rows_per_item(self) -> np.ndarray:
        """[num_items] number of rows of each item."""
        if self.first_rows is None:
            return np.ones(len(self.input_ids), dtype=np.int64)
        return np.diff(self.first_rows)

    @property
    def lengths(self) -> np.ndarray:
        """[num_items] length of the longest row of each item."""
        lengths = self.input_ids.lengths
        if self.first_rows is None:
            return lengths
        return np.maximum.reduceat(lengths, self.first_rows[:-1])

    @property
    def num_tokens(self) -> np.ndarray:
        """[num_items] tokens of all rows of each item."""
        lengths = self.input_ids.lengths
        if self.first_rows is None:
            return lengths
        return np.add.reduceat(lengths, self.first_rows[:-1])

    def rows(self, items: np.ndarray) -> np.ndarray:
        """[R] indices of the rows of `items` [B], concatenated."""
        if self.first_rows is None:
            return items
        spans = [np.arange(self.first_rows[i], self.first_rows[i + 1]) for i in items]
        return np.concatenate(spans)

    def save(self, path: Path) -> None:
        """Writes the data to an npz file."""
        with path.open("wb") as file:
            np.savez(file, **dict(_arrays(self)))

    @classmethod
    def load(cls, path: Path) -> "Encoded":
        """Data written by `save`."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**_fields(dict(arrays)))


def _arrays(value: Encoded | Ragged) -> Iterator[tuple[str, Any]]:
    """(name, array) of each field; those of a nested value are named `field.name`."""
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, (Encoded, Ragged)):
            yield from ((f"{field.name}.{name}", array) for name, array in _arrays(part))
        elif part is not None:
            yield field.name, part


def _fields(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Fields from the arrays of `_arrays`."""
    found: dict[str, Any] = {}
    nested: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for name, array in arrays.items():
        field, _, rest = name.partition(".")
        if rest:
            nested[field][rest] = array
        else:
            found[field] = array if array.ndim else array.item()
    for field, parts in nested.items():
        made = Encoded if field == "swapped" else Ragged
        found[field] = made(**_fields(parts))
    return found


def pad_rows(data: Encoded, rows: np.ndarray, pad_token_id: int) -> Batch:
    """A batch of the rows, padded on the right: input_ids, token_type_ids and attention_mask, each
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
    """The batch in each order of its texts: rows [R, T] once, or twice with swapped pairs."""
    swapped = {
        name.removeprefix(SWAPPED): value
        for name, value in batch.items()
        if name.startswith(SWAPPED)
    }
    return [batch, swapped] if swapped else [batch]


class TrainBatches(IterableDataset[Batch]):
    """The batches of all epochs; a function of the data, the settings and the seed."""

    def __init__(self, data: Encoded, finetune: Finetune, collate: Collate, seed: int) -> None:
        self.data, self.finetune, self.collate, self.seed = data, finetune, collate, seed

    @property
    def num_steps(self) -> int:
        """Number of batches over all epochs."""
        per_epoch = -(-self.data.num_items // self.finetune.batch_size)
        return per_epoch * self.finetune.epochs

    def __iter__(self) -> Iterator[Batch]:
        for epoch in range(self.finetune.epochs):
            for items in self.order(epoch):
                yield self.collate(self.data, items)

    def order(self, epoch: int) -> list[np.ndarray]:
        """[num_batches] item indices of each batch of an epoch: a random order, cut into batches.

        Batches of items of similar lengths would have less padding, but the same items would meet
        again and again: a small train set would have the same batches in every epoch.
        """
        order = np.random.default_rng([self.seed, epoch]).permutation(self.data.num_items)
        size = self.finetune.batch_size
        return np.split(order, range(size, len(order), size))
