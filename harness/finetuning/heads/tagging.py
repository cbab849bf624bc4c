"""Tagging: a tag for each word, predicted at its first subword.

Shapes: B windows of sentences, T tokens, C tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.divergences import symmetric_divergences
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.tasks.examples import HIDDEN, Examples, column

IGNORED = -100
"""Target of special tokens and of all subwords but the first of a word."""
NO_WORD = -1
"""Word index of such a token."""
OUTSIDE = "O"
"""Tag of words outside entities."""


class Tagging(TaskHead):
    """Cross-entropy over tags at the first subword of each word (Devlin et al. 2019, section 5.3).

    Long sentences are split into windows that overlap by `Protocol.doc_stride` tokens. A word is
    tagged in the first window in which it begins, and is context in the next.
    """

    per_token = True

    def encode(self, examples: Examples) -> Encoded:
        """Windows in example order; `positions`: the word index of each tagged token."""
        out = self._windows(examples.texts)
        owners = np.array(out["overflow_to_sample_mapping"])
        words = [out.word_ids(item) for item in range(len(owners))]
        positions = _first_subwords(words, owners)
        targets = [
            [IGNORED if word == NO_WORD else _target(examples.labels[owner][word]) for word in row]
            for row, owner in zip(positions, owners, strict=True)
        ]
        return Encoded(
            Ragged.of(out["input_ids"]),
            Ragged.of(out["token_type_ids"]),
            Ragged.of(targets),
            0.0,
            owners=owners,
            positions=Ragged.of(positions),
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
        """`labels` [B, T], IGNORED where no word begins."""
        assert isinstance(data.targets, Ragged)
        labels = torch.full_like(batch["input_ids"], IGNORED)
        for row, item in enumerate(items):
            targets = data.targets[item]
            labels[row, : len(targets)] = torch.from_numpy(targets)
        return {"labels": labels}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of logits [B, T, C] over the tagged words; 0 for a batch without any
        (the end of a long word)."""
        labels = batch["labels"].flatten()
        total = F.cross_entropy(
            outputs.flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum"
        )
        return total / labels.ne(IGNORED).sum().clamp(min=1)

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[N] symmetric divergences of logits [B, T, C] at the tagged words; a single 0 without
        any."""
        tagged = batch["labels"].ne(IGNORED)
        if not tagged.any():
            return moved.sum().unsqueeze(0) * 0
        return symmetric_divergences(moved[tagged], clean[tagged])

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] lists of tag indices per token."""
        return list(outputs.argmax(-1).tolist())

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] tuples of tag indices, one per word; words without tokens (white space,
        control characters) get the tag O."""
        assert data.owners is not None and data.positions is not None
        tags = [[outside_tag(self.task.labels)] * len(words) for words in examples.texts]
        for item, owner in enumerate(data.owners):
            for token, word in enumerate(data.positions[item]):
                if word != NO_WORD:
                    tags[owner][word] = decoded[item][token]
        return column([tuple(row) for row in tags])


def outside_tag(names: Sequence[str]) -> int:
    """Index of the tag O; 0 without one."""
    return list(names).index(OUTSIDE) if OUTSIDE in names else 0


def _first_subwords(words: Sequence[Sequence[int | None]], owners: np.ndarray) -> list[list[int]]:
    """For each token of each window, the index of the word that begins there, else NO_WORD.

    Args:
        words: word index of each token.
        owners: example of each window.
    """
    positions, last, owner = [], NO_WORD, None
    for row, row_owner in zip(words, owners, strict=True):
        if row_owner != owner:
            last, owner = NO_WORD, row_owner
        begins = []
        for word in row:
            # Indices increase, so a word up to `last` began earlier, perhaps in another window.
            begins.append(word if word is not None and word > last else NO_WORD)
            last = max(last, begins[-1])
        positions.append(begins)
    return positions


def _target(tag: int) -> int:
    return IGNORED if tag == HIDDEN else tag
