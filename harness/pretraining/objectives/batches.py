"""Batches as pure functions of (seed, step), so that any batch can be reproduced."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from harness.data.corpora.packing import (
    PAIR_FORMATS,
    Packing,
    PairKind,
    Sequences,
    concatenated,
    pack,
)
from harness.data.corpora.shards import shards
from harness.pretraining.budget import Phase
from harness.pretraining.objectives.cooccurrence import Cells, CellSampler
from harness.pretraining.objectives.crops import crops
from harness.pretraining.objectives.layout import Layout, Rows
from harness.pretraining.objectives.marks import marked
from harness.pretraining.objectives.negatives import NegativeSampling
from harness.pretraining.objectives.objective import AnyObjective, Objective, parts_of
from harness.pretraining.objectives.outputs import Cooccurrence
from harness.pretraining.objectives.sentences import check_neighbours
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.transform import TransformResult, stack
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

PACKING, ORDER, STATIC_NOISE, DYNAMIC_NOISE, COMPONENT, CROP, NEGATIVES = range(7)
"""Purpose of a random number: the second element of its seed."""
CACHED_DRAWINGS = 2
"""For each kind of pairs."""
Key = tuple[int, ...]


@dataclass(frozen=True)
class Drawing:
    """The text cut into sequences of one length."""

    sequences: Sequences
    lengths: np.ndarray
    """[num_sequences] tokens, special ones included."""

    def num_batches(self, tokens_per_batch: int) -> int:
        """Full batches in one epoch; the rest of it is dropped."""
        return int(self.lengths.sum()) // tokens_per_batch


@dataclass(frozen=True)
class MadeBatch:
    """A batch, and what it was made from."""

    rows: Rows
    """The text [B, T]; of counts of co-occurrence, their words."""
    transformed: TransformResult
    objective: Objective
    batch: Batch


class BatchMaker:
    """The batches of a pretraining run.

    A batch holds batch_size x sequence_length tokens, with special tokens and without padding, in
    as many sequences as needed. Each epoch reads the shards of the stream in random order, shuffles
    the sequences of each, and drops its last incomplete batch. Where the data itself is random
    (static masks, pairs), epoch e uses drawing e modulo `objective.dupe_factor`. Components of a
    mixture with other pairs have drawings and epochs of their own: update t of one reads what it
    would read if all updates were of it.

    A batch of counts of co-occurrence has as many of them in place of tokens.
    """

    def __init__(
        self,
        stream: "TokenStream",
        vocabulary: Vocabulary,
        objective: AnyObjective,
        packing: Packing,
        phases: Sequence[Phase],
        batch_size: int,
        seed: int,
        num_steps: int,
        decoder_start: int | None = None,
    ) -> None:
        self.stream, self.vocabulary = stream, vocabulary
        self.objective, self.packing = objective, packing
        self.components = parts_of(objective)
        self.batch_size, self.seed = batch_size, seed
        self.decoder_start = vocabulary.pad if decoder_start is None else decoder_start
        self.layout = Layout(
            stream,
            vocabulary,
            with_identifiers=any(part.objective.reads_identifiers for part in self.components),
        )
        self.sampling = NegativeSampling(stream.tokens, vocabulary)
        self.lengths = [phase.sequence_length for phase in phases]
        shares = np.cumsum([phase.fraction for phase in phases])
        self.phase_ends = np.rint(shares * num_steps).astype(int).tolist()
        self.is_sequential = packing.order == "sequential"
        self.shards = shards(stream, self.is_sequential)
        self.num_batches: dict[tuple[Key, PairKind], int] = {}
        size = CACHED_DRAWINGS * len({self.pairs(part.objective) for part in self.components})
        self.drawing: Callable[[Key, PairKind], Drawing] = lru_cache(size)(self._draw)
        self.order = lru_cache(size)(self._order)

    def batch(self, step: int) -> Batch:
        """The batch of update `step`, counted from 0; tokens are [num_rows, width].

        Raises:
            ValueError: the step is beyond the run, or the text is too small for one batch.
        """
        return self.made(step).batch

    def made(self, step: int) -> "MadeBatch":
        """The batch of an update, and what it was made from; see `batch`."""
        phase, step_of_phase = self._phase(step)
        if self._window is not None:
            return self._of_cells(phase, step_of_phase)
        component = self.components[self.component(step)]
        pairs = self.pairs(component.objective)
        epoch, shard, index = self._place(phase, step_of_phase, pairs)
        order, starts = self.order(phase, epoch, shard, pairs)
        tokens = self._tokens_per_batch(phase)
        first, last = np.searchsorted(starts, (index * tokens, (index + 1) * tokens))
        chosen = order[first:last]
        drawing = self._key(phase, epoch, shard)
        sequences = self.drawing(drawing, pairs).sequences.take(chosen)
        rows = self.layout.rows(sequences)
        labels = None if component.objective.sentence_pair == "none" else sequences.label
        read = marked(rows, component, self.vocabulary)
        noise = self._transformed(read, component.objective, chosen, drawing, step)
        source = rows if component.objective.predicts_text else read
        batch = assemble(
            source, noise, component.objective, labels, self.vocabulary, self.decoder_start
        )
        batch |= crops(source, component.objective, self._rng(CROP, step), self.vocabulary)
        batch |= self.sampling.sample(batch, component.objective, self._rng(NEGATIVES, step))
        return MadeBatch(source, noise, component.objective, batch)

    def pairs(self, objective: Objective) -> PairKind:
        """How the second segments of an objective are drawn, in a format of pairs."""
        loss = objective.sentence_pair
        return self.packing.pairs or "none" if loss == "none" else loss

    @property
    def _window(self) -> int | None:
        """Of the counts of co-occurrence, if batches are of these."""
        output = self.components[-1].objective.output
        return output.window if isinstance(output, Cooccurrence) else None

    @cached_property
    def _cells(self) -> tuple[Cells, CellSampler]:
        """The counts of the whole text. They are a function of it, so that a resumed run counts
        again."""
        assert self._window is not None
        cells = Cells.of(self.stream, self.vocabulary, self._window)
        return cells, CellSampler(len(cells), (self.seed, ORDER))

    def _of_cells(self, phase: int, step: int) -> "MadeBatch":
        """The batch of counts of a step of a phase."""
        cells, sampler = self._cells
        chosen = sampler.sample(phase, step, self.batch_size, self.lengths[phase])
        rows, objective = cells.rows(chosen), self.components[-1].objective
        read = apply_transform(objective.transform, rows, self._rng(ORDER), self.vocabulary)
        return MadeBatch(rows, read, objective, cells.batch(chosen))

    def component(self, step: int) -> int:
        """Index of the mixture component of update `step`."""
        if len(self.components) == 1:
            return 0
        weights = np.array([component.weight for component in self.components])
        draw = self._rng(COMPONENT, step).random()
        return int(np.searchsorted(np.cumsum(weights) / weights.sum(), draw, side="right"))

    def _transformed(
        self,
        rows: Rows,
        objective: Objective,
        chosen: np.ndarray,
        drawing: Key,
        step: int,
    ) -> TransformResult:
        if objective.masking == "dynamic":
            rng = self._rng(DYNAMIC_NOISE, step)
            return apply_transform(objective.transform, rows, rng, self.vocabulary)
        # Sequence by sequence, so that the noise does not depend on the batch.
        alone = [
            apply_transform(
                objective.transform,
                rows.alone(row),
                self._rng(STATIC_NOISE, *drawing, int(sequence)),
                self.vocabulary,
            )
            for row, sequence in enumerate(chosen)
        ]
        return stack(alone, rows.tokens.shape[1], self.vocabulary.pad)

    def _phase(self, step: int) -> tuple[int, int]:
        """Phase of a step, and the index of the step in it."""
        if step >= self.phase_ends[-1]:
            raise ValueError(f"step must be less than {self.phase_ends[-1]}, but is {step}")
        phase = bisect_right(self.phase_ends, step)
        return phase, step - (self.phase_ends[phase - 1] if phase else 0)

    def _place(self, phase: int, step: int, pairs: PairKind) -> tuple[int, int, int]:
        """Epoch and shard of a step of a phase, and the index of the batch in them."""
        left, skipped = step, 0
        for epoch in count():
            if epoch == self._period:  # from here on, the sizes of epochs repeat
                size = step - left
                skipped = left // size * self._period
                left %= size
            for shard in self._shard_order(phase, epoch + skipped):
                size = self._batches(phase, self._key(phase, epoch + skipped, shard), pairs)
                if left < size:
                    return epoch + skipped, shard, left
                left -= size
        raise AssertionError("epochs do not end")

    def _shard_order(self, phase: int, epoch: int) -> Sequence[int]:
        if len(self.shards) == 1 or self.is_sequential:
            return range(len(self.shards))
        found: list[int] = self._rng(ORDER, phase, epoch).permutation(len(self.shards)).tolist()
        return found

    def _batches(self, phase: int, key: Key, pairs: PairKind) -> int:
        """Batches in an epoch of this drawing; cached, as drawings are evicted."""
        if (key, pairs) not in self.num_batches:
            drawing = self.drawing(key, pairs)
            tokens = self._tokens_per_batch(phase)
            self.num_batches[key, pairs] = drawing.num_batches(tokens)
            if not self.num_batches[key, pairs]:
                raise ValueError(
                    f"a batch takes {tokens} tokens (batch_size {self.batch_size} x "
                    f"{self.lengths[phase]}), but the text has only {drawing.lengths.sum()}; "
                    "use a smaller batch_size or more text"
                )
        return self.num_batches[key, pairs]

    @property
    def _period(self) -> int:
        """Epochs with drawings of their own."""
        random = self.objective.masking == "static" or self.packing.format in PAIR_FORMATS
        return self.objective.dupe_factor if random else 1

    def _key(self, phase: int, epoch: int, shard: int) -> Key:
        """Identifies the drawing of an epoch: phase, duplicate, and one of several shards."""
        several = len(self.shards) > 1
        return (phase, epoch % self._period, *([shard] if several else []))

    def _draw(self, key: Key, pairs: PairKind) -> Drawing:
        phase, shard = key[0], key[2] if len(key) > 2 else 0
        rng = self._rng(PACKING, *key)
        parts = [
            pack(
                block,
                self.packing,
                self.lengths[phase] - any(part.mode_token for part in self.components),
                pairs,
                rng,
                separators_between=self.vocabulary.separators_between,
            )
            for block in self.shards[shard]
        ]
        sequences = concatenated(parts)
        if self.components[-1].objective.output.kind == "neighbour_sentences":
            check_neighbours(self.stream, sequences)
        return Drawing(sequences, self.layout.lengths(sequences))

    def _order(
        self, phase: int, epoch: int, shard: int, pairs: PairKind
    ) -> tuple[np.ndarray, np.ndarray]:
        """Order of the sequences of a shard in an epoch, and the number of tokens before each."""
        lengths = self.drawing(self._key(phase, epoch, shard), pairs).lengths
        if self.is_sequential:
            order = np.arange(len(lengths))
        else:
            of_shard = [shard] if len(self.shards) > 1 else []
            order = self._rng(ORDER, phase, epoch, *of_shard).permutation(len(lengths))
        return order, np.cumsum(lengths[order]) - lengths[order]

    def _tokens_per_batch(self, phase: int) -> int:
        return self.batch_size * self.lengths[phase]

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *key))
