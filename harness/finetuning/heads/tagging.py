"""Tagging: a tag for each word, read at its first piece.

Shapes: B windows of sentences, T tokens, C tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.tasks.examples import HIDDEN, Examples
from harness.tasks.metrics.metric import column

IGNORED = -100
"""Target of tokens that are not tagged: special ones, and all pieces of a word but the first."""
NOWHERE = -1
"""Word of such a token."""
OUTSIDE = "O"
"""Tag of a word in no entity."""


class Tagging(TaskHead):
    """Cross-entropy of the tags of the words, at their first pieces (Devlin et al. 2019, section
    5.3).

    A sentence that is too long is read in windows that share `Protocol.doc_stride` tokens, so that
    no word goes untagged. A word is tagged in the first window that it begins in; in the next one,
    it is there as context.
    """

    per_token = True

    @property
    def num_outputs(self) -> int:
        return len(self.task.labels)

    def encode(self, examples: Examples) -> Encoded:
        """The windows are in the order of the examples; places: the word of each tagged token."""
        out = self._windows(examples.texts)
        owners = np.array(out["overflow_to_sample_mapping"])
        words = [out.word_ids(item) for item in range(len(owners))]
        places = _first_pieces(words, owners)
        targets = [
            [IGNORED if word == NOWHERE else _target(examples.labels[owner][word]) for word in row]
            for row, owner in zip(places, owners, strict=True)
        ]
        return Encoded(
            Ragged.of(out["input_ids"]),
            Ragged.of(out["token_type_ids"]),
            Ragged.of(targets),
            0.0,
            owners=owners,
            places=Ragged.of(places),
        )

    def _windows(self, sentences: Sequence[tuple[str, ...]]) -> Any:
        length = self.protocol.max_sequence_length
        room = length - self.tokenizer.num_special_tokens_to_add()
        return self.tokenizer(
            [list(words) for words in sentences],
            is_split_into_words=True,
            truncation=True,
            max_length=length,
            stride=min(self.protocol.doc_stride, room // 2),
            return_overflowing_tokens=True,
            return_token_type_ids=True,
        )

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        assert isinstance(data.targets, Ragged)
        labels = torch.full_like(batch["input_ids"], IGNORED)
        for row, item in enumerate(items):
            targets = data.targets[item]
            labels[row, : len(targets)] = torch.from_numpy(targets)
        return {"labels": labels}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean over the tagged words; 0 for a batch without any, as of the rest of a long word."""
        labels = batch["labels"].flatten()
        total = F.cross_entropy(
            outputs.flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum"
        )
        return total / labels.ne(IGNORED).sum().clamp(min=1)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        return list(outputs.argmax(-1).tolist())

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] tag numbers, as many as words; a word that the tokenizer makes nothing of
        (white space, control characters) is outside."""
        assert data.owners is not None and data.places is not None
        tags = [[self._outside] * len(words) for words in examples.texts]
        for item, owner in enumerate(data.owners):
            for token, word in enumerate(data.places[item]):
                if word != NOWHERE:
                    tags[owner][word] = decoded[item][token]
        return column([tuple(row) for row in tags])

    @property
    def _outside(self) -> int:
        return self.task.labels.index(OUTSIDE) if OUTSIDE in self.task.labels else 0


def _first_pieces(words: Sequence[Sequence[int | None]], owners: np.ndarray) -> list[list[int]]:
    """Of each window, from the word of each token: the word where it begins, else NOWHERE."""
    places, last, owner = [], NOWHERE, None
    for row, its_owner in zip(words, owners, strict=True):
        if its_owner != owner:
            last, owner = NOWHERE, its_owner
        begins = []
        for word in row:
            # Words come in order, so a word not beyond the last was begun, perhaps in the window
            # before.
            new = word is not None and word > last
            begins.append(word if new and word is not None else NOWHERE)
            last = max(last, begins[-1])
        places.append(begins)
    return places


def _target(tag: int) -> int:
    return IGNORED if tag == HIDDEN else tag
