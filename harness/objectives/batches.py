"""Batches as pure functions of (seed, step): any of them can be made again from its number.

Shapes: B sequences, T positions, M tokens to predict in the batch. A batch is a dict of

    input_ids         [B, T]  with masks in place
    token_type_ids    [B, T]
    attention_mask    [B, T]  absent where nothing is padding
    masked_positions  [M]     into the flattened [B * T]
    masked_targets    [M]
    pair_label        [B]     absent without a pair loss
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.corpora.packing import PAIR_FORMATS, Packing, Sequences, pack
from harness.objectives import Objective
from harness.objectives.layout import Layout, Rows
from harness.objectives.masking import joint_draws, mask_tokens, row_draws
from harness.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.corpora.stream import TokenStream
    from harness.recipes import Phase

Batch = dict[str, np.ndarray]

PACKING, ORDER, STATIC_MASK, DYNAMIC_MASK = range(4)
"""What a random number is for: the second element of its seed."""
CACHED_DRAWINGS = 2


@dataclass(frozen=True)
class Drawing:
    """The text once cut into sequences at one length."""

    sequences: Sequences
    lengths: np.ndarray
    """[num_sequences] tokens, special ones included."""

    def num_batches(self, tokens_per_batch: int) -> int:
        """Full batches in one epoch; the rest of it is dropped."""
        return int(self.lengths.sum()) // tokens_per_batch


def assemble(
    rows: Rows,
    draws: np.ndarray,
    labels: np.ndarray | None,
    objective: Objective,
    vocabulary: Vocabulary,
) -> Batch:
    """A batch of `rows`, masked by `draws`; `labels` [B] are those of the pairs, if learned."""
    inputs, chosen = mask_tokens(rows.tokens, rows.maskable, draws, objective, vocabulary)
    batch = {
        "input_ids": inputs,
        "token_type_ids": rows.types,
        "masked_positions": np.flatnonzero(chosen),
        "masked_targets": rows.tokens[chosen],
    }
    if (rows.lengths < rows.tokens.shape[1]).any():
        real = np.arange(rows.tokens.shape[1]) < rows.lengths[:, None]
        batch["attention_mask"] = real.astype(np.int64)
    if labels is not None:
        batch["pair_label"] = labels
    return batch


def split(batch: Batch, max_tokens: int) -> list[Batch]:
    """The batch in parts of at most `max_tokens` positions each, or of one sequence."""
    num_rows, width = batch["input_ids"].shape
    size = max(1, max_tokens // width)
    if size >= num_rows:
        return [batch]
    return [_rows(batch, first, min(first + size, num_rows)) for first in range(0, num_rows, size)]


def _rows(batch: Batch, first: int, last: int) -> Batch:
    width = batch["input_ids"].shape[1]
    positions = batch["masked_positions"]
    begin, end = np.searchsorted(positions, (first * width, last * width))
    flat = {
        "masked_positions": positions[begin:end] - first * width,
        "masked_targets": batch["masked_targets"][begin:end],
    }
    return {name: flat[name] if name in flat else batch[name][first:last] for name in batch}


class BatchMaker:
    """The batches of a pretraining run.

    A batch holds batch_size x sequence_length tokens, special ones counted and padding not, in as
    many sequences as that takes. An epoch goes through the sequences of a drawing in an order of
    its own; its last tokens that fill no batch are dropped. Where the data itself is random (static
    masks, pairs), epoch e reads drawing e modulo `objective.duplicates`.
    """

    def __init__(
        self,
        stream: "TokenStream",
        vocabulary: Vocabulary,
        objective: Objective,
        packing: Packing,
        phases: Sequence["Phase"],
        batch_size: int,
        seed: int,
        num_steps: int,
    ) -> None:
        self.stream, self.vocabulary = stream, vocabulary
        self.objective, self.packing = objective, packing
        self.batch_size, self.seed = batch_size, seed
        self.layout = Layout(stream, vocabulary)
        self.lengths = [phase.sequence_length for phase in phases]
        shares = np.cumsum([phase.fraction for phase in phases])
        self.phase_ends = np.rint(shares * num_steps).astype(int).tolist()
        self.num_batches: dict[tuple[int, int], int] = {}
        self.drawing: Callable[[int, int], Drawing] = lru_cache(CACHED_DRAWINGS)(self._draw)
        self.epoch = lru_cache(CACHED_DRAWINGS)(self._order)

    def batch(self, step: int) -> Batch:
        """The batch of update `step`, counted from 0."""
        phase, step_of_phase = self._phase(step)
        epoch, index = self._epoch(phase, step_of_phase)
        order, starts = self.epoch(phase, epoch)
        tokens = self._tokens_per_batch(phase)
        first, last = np.searchsorted(starts, (index * tokens, (index + 1) * tokens))
        chosen = order[first:last]
        sequences = self.drawing(phase, self._duplicate(epoch)).sequences.take(chosen)
        rows = self.layout.rows(sequences)
        labels = None if self.objective.pair == "none" else sequences.label
        draws = self._draws(rows, chosen, (phase, self._duplicate(epoch)), step)
        return assemble(rows, draws, labels, self.objective, self.vocabulary)

    def _draws(
        self, rows: Rows, chosen: np.ndarray, drawing: tuple[int, int], step: int
    ) -> np.ndarray:
        if self.objective.masking == "static":
            seeds = [(self.seed, STATIC_MASK, *drawing, int(sequence)) for sequence in chosen]
            return row_draws(rows.lengths, rows.tokens.shape[1], seeds)
        return joint_draws(rows.tokens.shape, self._rng(DYNAMIC_MASK, step))

    def _phase(self, step: int) -> tuple[int, int]:
        """Phase of a step, and the step's number in it."""
        begin = 0
        for phase, end in enumerate(self.phase_ends):
            if step < end:
                return phase, step - begin
            begin = end
        raise ValueError(f"step must be less than {self.phase_ends[-1]}, but is {step}")

    def _epoch(self, phase: int, step: int) -> tuple[int, int]:
        """Epoch of a phase's step, and the batch's number in it."""
        epoch = 0
        while step >= (size := self._batches(phase, self._duplicate(epoch))):
            step -= size
            epoch += 1
        return epoch, step

    def _batches(self, phase: int, duplicate: int) -> int:
        """Batches in an epoch of this drawing; kept, as drawings themselves are not."""
        key = (phase, duplicate)
        if key not in self.num_batches:
            drawing = self.drawing(*key)
            tokens = self._tokens_per_batch(phase)
            self.num_batches[key] = drawing.num_batches(tokens)
            if not self.num_batches[key]:
                raise ValueError(
                    f"a batch takes {tokens} tokens (batch_size {self.batch_size} x "
                    f"{self.lengths[phase]}), but the text gives only {drawing.lengths.sum()}; "
                    "use a smaller batch_size or more text"
                )
        return self.num_batches[key]

    def _duplicate(self, epoch: int) -> int:
        random = self.objective.masking == "static" or self.packing.format in PAIR_FORMATS
        return epoch % self.objective.duplicates if random else 0

    def _draw(self, phase: int, duplicate: int) -> Drawing:
        sequences = pack(
            self.stream,
            self.packing,
            self.lengths[phase],
            self.objective.pair,
            self._rng(PACKING, phase, duplicate),
            separators_between=self.vocabulary.separators_between,
        )
        return Drawing(sequences, self.layout.lengths(sequences))

    def _order(self, phase: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Order of the sequences in an epoch, and how many tokens come before each."""
        lengths = self.drawing(phase, self._duplicate(epoch)).lengths
        order = self._rng(ORDER, phase, epoch).permutation(len(lengths))
        return order, np.cumsum(lengths[order]) - lengths[order]

    def _tokens_per_batch(self, phase: int) -> int:
        return self.batch_size * self.lengths[phase]

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *key))


def count_tokens(batch: Batch) -> int:
    """Tokens of a batch, padding not counted."""
    mask = batch.get("attention_mask")
    return int(batch["input_ids"].size if mask is None else mask.sum())
