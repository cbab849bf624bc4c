"""From corrupted rows to a batch: what the model reads, where it predicts, and what is right there.

Shapes: B sequences, T positions read, U positions of a decoder, M predictions in the batch. A batch
is a dict of

    input_ids         [B, T]
    token_type_ids    [B, T]  segment numbers
    attention_mask    [B, T]  absent where nothing is padding
    num_tokens        [B]     tokens of the text before it was corrupted, special ones included
    positions         [M]     where a token is predicted, in the flattened states
    targets           [M]     the right tokens

and, where the objective has them,

    decoder_input_ids [B, U]  with decoder_attention_mask; `positions` are then of [B * U]
    prefix_lengths    [B]     tokens of [B, T] that are seen from everywhere
    backward_positions, backward_targets  [M]   of the reader from right to left
    order             [B, T]  factorisation order, with chosen [B, T] and predicted [B, P], the
                              columns to predict; `positions` are then of [B * P]
    span_left, span_right, span_offset    [M]   the tokens around the span of each prediction, in
                              the flattened [B * T], and its place in the span, from 0
    pair_label        [B]
"""

import numpy as np

from harness.pretraining.objectives.layout import PAD_MULTIPLE, Rows
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.transform import TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary

Batch = dict[str, np.ndarray]


def assemble(
    rows: Rows,
    corrupted: TransformResult,
    objective: Objective,
    labels: np.ndarray | None,
    vocabulary: Vocabulary,
    decoder_start: int,
) -> Batch:
    """The batch of an objective; `labels` [B] are those of the pairs, where they are learned.

    Args:
        rows: the text before it was corrupted.
        decoder_start: token that a decoder's input starts with.
    """
    if objective.predicts_text:
        batch = _to_text(rows, corrupted, objective, vocabulary, decoder_start)
    else:
        batch = _read(corrupted.inputs, corrupted.lengths, rows.types)
        batch |= _in_place(rows, corrupted, objective)
    batch["num_tokens"] = rows.lengths
    if labels is not None:
        batch["pair_label"] = labels
    if objective.span_boundary:
        batch |= _boundaries(corrupted)
    return batch


def _read(inputs: np.ndarray, lengths: np.ndarray, types: np.ndarray | None = None) -> Batch:
    types = np.zeros_like(inputs) if types is None else types
    batch = {"input_ids": inputs, "token_type_ids": types}
    mask = _real(lengths, inputs.shape[1])
    return batch if mask.all() else batch | {"attention_mask": mask.astype(np.int64)}


def _real(lengths: np.ndarray, width: int) -> np.ndarray:
    """[B, width] bool: positions before the padding."""
    real: np.ndarray = np.arange(width) < lengths[:, None]
    return real


def _in_place(rows: Rows, corrupted: TransformResult, objective: Objective) -> Batch:
    """Targets that stand at, before or after the position that predicts them."""
    if objective.representation == "permuted":
        return _permuted(rows, corrupted)
    if objective.representation == "cbow":
        return _at(rows.tokens, rows.maskable, 0)
    if objective.output.kind != "next_token":
        return _at(rows.tokens, corrupted.chosen, 0)
    told = _real(rows.lengths, rows.tokens.shape[1])
    after, before = told.copy(), told.copy()
    after[:, 0] = False  # nothing stands before the first token,
    before[:, -1] = False  # nor after the last
    before[np.arange(len(told)), rows.lengths - 1] = False
    batch = _at(rows.tokens, after, -1)
    if objective.representation == "bilm":
        backward = _at(rows.tokens, before, 1)
        batch |= {f"backward_{name}": array for name, array in backward.items()}
    return batch


def _at(tokens: np.ndarray, told: np.ndarray, offset: int) -> Batch:
    """`told` [B, T] tokens are predicted `offset` positions beside their own."""
    flat = np.flatnonzero(told)
    return {"positions": flat + offset, "targets": tokens[told]}


def _permuted(rows: Rows, corrupted: TransformResult) -> Batch:
    assert corrupted.order is not None
    chosen = corrupted.chosen
    counts = chosen.sum(1)
    width = max(1, int(counts.max()))
    columns = np.argsort(~chosen, axis=1, kind="stable")[:, :width]
    return {
        "order": corrupted.order,
        "chosen": chosen,
        "predicted": columns,
        "positions": np.flatnonzero(_real(counts, width)),
        "targets": rows.tokens[chosen],
    }


def _boundaries(corrupted: TransformResult) -> Batch:
    """The tokens around the span of each chosen one (Joshi et al. 2020, section 3.2)."""
    spans = corrupted.spans
    assert spans is not None
    row, column = np.nonzero(corrupted.chosen)
    number = spans[row, column]
    width = spans.shape[1]
    first = np.r_[True, (row[1:] != row[:-1]) | (number[1:] != number[:-1])]
    span = np.cumsum(first) - 1
    begin = np.flatnonzero(first)
    end = np.r_[begin[1:], len(row)] - 1
    flat = row * width + column
    return {
        "span_left": flat[begin][span] - 1,
        "span_right": flat[end][span] + 1,
        "span_offset": flat - flat[begin][span],
    }


def _to_text(
    rows: Rows,
    corrupted: TransformResult,
    objective: Objective,
    vocabulary: Vocabulary,
    decoder_start: int,
) -> Batch:
    """The text to tell, after the source in one stack, or in a decoder of its own."""
    target, lengths = target_text(rows, corrupted, objective, vocabulary)
    if objective.representation != "encoder_decoder":
        return _concatenated(corrupted, target, lengths, objective, vocabulary)
    batch = _read(corrupted.inputs, corrupted.lengths)
    decoder = np.full_like(target, vocabulary.pad)
    decoder[:, 0] = decoder_start
    real = _real(lengths, target.shape[1])
    decoder[:, 1:] = np.where(real[:, 1:], target[:, :-1], vocabulary.pad)
    batch["decoder_input_ids"] = decoder
    if not real.all():
        batch["decoder_attention_mask"] = real.astype(np.int64)
    return batch | _at(target, real, 0)


def target_text(
    rows: Rows, corrupted: TransformResult, objective: Objective, vocabulary: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """[B, U] tokens to tell, an end token last, padded; and their lengths [B]."""
    if objective.output.kind == "dropped_spans":
        assert corrupted.dropped is not None
        text, lengths = corrupted.dropped
    else:  # without the first token, and without the last, which is the end token already
        text, lengths = rows.tokens[:, 1:], rows.lengths - 2
    width = _padded(int(lengths.max()) + 1)
    target = np.full((len(text), width), vocabulary.pad)
    kept = min(width, text.shape[1])
    target[:, :kept] = np.where(_real(lengths, kept), text[:, :kept], vocabulary.pad)
    target[np.arange(len(text)), lengths] = vocabulary.sep
    return target, lengths + 1


def _concatenated(
    corrupted: TransformResult,
    target: np.ndarray,
    lengths: np.ndarray,
    objective: Objective,
    vocabulary: Vocabulary,
) -> Batch:
    """Source and target in one row; the loss is on the target (Raffel et al. 2020, 3.2.1)."""
    total = corrupted.lengths + lengths
    width = _padded(int(total.max()))
    joined = np.full((len(target), width), vocabulary.pad)
    source = _real(corrupted.lengths, corrupted.inputs.shape[1])
    row, column = np.nonzero(source)
    joined[row, column] = corrupted.inputs[source]
    real = _real(lengths, target.shape[1])
    row, column = np.nonzero(real)
    joined[row, column + corrupted.lengths[row]] = target[real]
    told = _real(total, width) & ~_real(corrupted.lengths, width)
    batch = _read(joined, total) | _at(joined, told, -1)
    if objective.representation == "prefix":
        batch["prefix_lengths"] = corrupted.lengths
    return batch


def _padded(width: int) -> int:
    return -(-width // PAD_MULTIPLE) * PAD_MULTIPLE


LOSSES = (
    "token",
    "backward",
    "pair",
    "boundary",
    "replaced",
    "soft_target",
    "cosine",
    "hidden",
    "attention",
)
"""Names of the losses that an objective may be a weighted sum of."""


def count_targets(batch: Batch) -> dict[str, int]:
    """How many predictions each loss is a mean over."""
    real = count_real(batch)
    counts = {"token": len(batch["targets"]), "soft_target": len(batch["targets"])}
    counts |= dict.fromkeys(("replaced", "cosine", "hidden", "attention"), real)
    if "backward_targets" in batch:
        counts["backward"] = len(batch["backward_targets"])
    if "pair_label" in batch:
        counts["pair"] = len(batch["pair_label"])
    if "span_left" in batch:
        counts["boundary"] = len(batch["span_left"])
    return counts


def count_real(batch: Batch) -> int:
    """Tokens that the model reads, padding not counted."""
    mask = batch.get("attention_mask")
    return int(batch["input_ids"].size if mask is None else mask.sum())


def split(batch: Batch, max_tokens: int) -> list[Batch]:
    """The batch in parts of at most `max_tokens` positions each, or of one sequence."""
    num_rows, width = batch["input_ids"].shape
    if "decoder_input_ids" in batch:
        width += batch["decoder_input_ids"].shape[1]
    size = max(1, max_tokens // width)
    if size >= num_rows:
        return [batch]
    return [_rows(batch, first, min(first + size, num_rows)) for first in range(0, num_rows, size)]


FLAT = {
    "positions": ("targets", "span_left", "span_right", "span_offset"),
    "backward_positions": ("backward_targets",),
}
"""Arrays of positions, in ascending order, and those that go with them prediction by prediction."""


def _rows(batch: Batch, first: int, last: int) -> Batch:
    part = {}
    for name, followers in FLAT.items():
        if name in batch:
            width = _width(batch, name)
            begin, end = np.searchsorted(batch[name], (first * width, last * width))
            part[name] = batch[name][begin:end] - first * width
            for follower in followers:
                if follower in batch:
                    moved = first * width if follower in ("span_left", "span_right") else 0
                    part[follower] = batch[follower][begin:end] - moved
    return {name: part[name] if name in part else batch[name][first:last] for name in batch}


def _width(batch: Batch, name: str) -> int:
    """Positions of a row that the flat positions count."""
    for array in ("predicted", "decoder_input_ids"):
        if array in batch and name == "positions":
            return int(batch[array].shape[1])
    return int(batch["input_ids"].shape[1])
