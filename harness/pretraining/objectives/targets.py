"""From transformed rows to a batch: inputs, prediction positions and targets.

Shapes: B sequences, T input positions, U decoder positions, M predictions in the batch. A batch is
a dict of

    input_ids         [B, T]
    token_type_ids    [B, T]  segment numbers
    attention_mask    [B, T]  absent if there is no padding
    num_tokens        [B]     tokens before the transform, special tokens included
    positions         [M]     of the predictions, in the flattened states
    targets           [M]     tokens to predict

and, depending on the objective,

    decoder_input_ids [B, U]  with decoder_attention_mask; `positions` then index [B * U]
    prefix_lengths    [B]     tokens of [B, T] that every position sees
    backward_positions, backward_targets  [M]   of the right-to-left LM
    previous_input_ids [B, U] of the decoder of the sentence before that of the row, whose
                              previous_positions and previous_targets [M] index [B * U]
    order             [B, T]  factorisation order, with chosen [B, T] and predicted [B, P], the
                              columns to predict; `positions` then index [B * P]
    span_left, span_right, span_offset    [M]   the tokens around the span of each prediction, in
                              the flattened [B * T], and its index in the span
    negatives         [M, k]  sampled tokens beside each target
    counts            [M]     how often the token at a position and its target co-occur
    pair_label        [B]
    crop_input_ids    [B, S]  a crop of the original text, with crop_token_type_ids, and
                              crop_attention_mask if there is padding
"""

import numpy as np

from harness.pretraining.objectives.layout import Rows, padded_width
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.sentences import sentences_of
from harness.pretraining.objectives.transforms.array_ops import filled
from harness.pretraining.objectives.transforms.transform import TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary

Batch = dict[str, np.ndarray]


def assemble(
    rows: Rows,
    result: TransformResult,
    objective: Objective,
    labels: np.ndarray | None,
    vocabulary: Vocabulary,
    decoder_start: int,
) -> Batch:
    """The batch of an objective; of neighbouring sentences, a row for each sentence of the text.

    Args:
        rows: the text before the transform.
        labels: [B] labels of the sentence pairs, if there is a pair loss.
        decoder_start: first token of a decoder's input.
    """
    if objective.output.kind == "neighbour_sentences":
        return _surrounded(rows, vocabulary, decoder_start)
    if objective.predicts_text:
        batch = _to_text(rows, result, objective, vocabulary, decoder_start)
    else:
        batch = read(result.inputs, result.lengths, rows.types)
        batch |= _in_place(rows, result, objective, vocabulary)
    batch["num_tokens"] = rows.lengths
    if labels is not None:
        batch["pair_label"] = labels
    if objective.span_boundary:
        batch |= _boundaries(result)
    return batch


def read(inputs: np.ndarray, lengths: np.ndarray, types: np.ndarray | None = None) -> Batch:
    """The inputs [B, T] of `lengths` [B] tokens with their segment numbers [B, T], and the mask of
    the padding if there is any."""
    types = np.zeros_like(inputs) if types is None else types
    batch = {"input_ids": inputs, "token_type_ids": types}
    mask = filled(lengths, inputs.shape[1])
    return batch if mask.all() else batch | {"attention_mask": mask.astype(np.int64)}


def _in_place(
    rows: Rows, result: TransformResult, objective: Objective, vocabulary: Vocabulary
) -> Batch:
    """Targets at, before or after the position that predicts them."""
    if objective.representation == "permuted":
        return _permuted(rows, result)
    if objective.representation == "skipgram":
        return _context(rows, result, vocabulary)
    if objective.representation == "cbow":
        return _at(rows.tokens, rows.words(vocabulary), 0)
    if objective.output.kind != "next_token":
        batch = _at(rows.tokens, result.chosen, 0)
        if objective.representation == "prefix":
            batch["prefix_lengths"] = rows.source_lengths
        return batch
    predicted = filled(rows.lengths, rows.tokens.shape[1])
    after, before = predicted.copy(), predicted.copy()
    after[:, 0] = False  # nothing precedes the first token,
    before[:, -1] = False  # nothing follows the last
    before[np.arange(len(predicted)), rows.lengths - 1] = False
    batch = _at(rows.tokens, after, -1)
    if objective.representation == "bilm":
        backward = _at(rows.tokens, before, 1)
        batch |= {f"backward_{name}": array for name, array in backward.items()}
    return batch


def _at(tokens: np.ndarray, predicted: np.ndarray, offset: int) -> Batch:
    """The tokens at `predicted` [B, T] bool, each predicted `offset` positions from its own."""
    flat = np.flatnonzero(predicted)
    return {"positions": flat + offset, "targets": tokens[predicted]}


def _permuted(rows: Rows, result: TransformResult) -> Batch:
    assert result.order is not None
    chosen = result.chosen
    counts = chosen.sum(1)
    width = max(1, int(counts.max()))
    columns = np.argsort(~chosen, axis=1, kind="stable")[:, :width]
    return {
        "order": result.order,
        "chosen": chosen,
        "predicted": columns,
        "positions": np.flatnonzero(filled(counts, width)),
        "targets": rows.tokens[chosen],
    }


def _context(rows: Rows, result: TransformResult, vocabulary: Vocabulary) -> Batch:
    """The words in the window of each word, from left to right. Distances count special tokens,
    such as unknown words, which neither predict nor are predicted, as in CBOW's `context`."""
    assert result.window is not None
    text = rows.words(vocabulary)
    window = np.where(text, result.window, 0)
    width = text.shape[1]
    size = int(window.max())
    offsets = np.array([*range(-size, 0), *range(1, size + 1)], dtype=np.int64)
    other = np.arange(width)[:, None] + offsets  # [T, 2 x size]
    inside = (other >= 0) & (other < width)
    other = np.where(inside, other, 0)
    predicted = inside & text[:, other] & (window[:, :, None] >= np.abs(offsets))
    row, column, place = np.nonzero(predicted)
    return {
        "positions": row * width + column,
        "targets": rows.tokens[row, other[column, place]],
    }


def _boundaries(result: TransformResult) -> Batch:
    """The tokens around the span of each chosen one (Joshi et al. 2020, section 3.2).

    Beside a span at either end of the text stands a special token; SpanBERT's code (masking.py,
    `span_masking`) leaves such spans out of this loss.
    """
    spans = result.spans
    assert spans is not None
    row, column = np.nonzero(result.chosen)
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
    result: TransformResult,
    objective: Objective,
    vocabulary: Vocabulary,
    decoder_start: int,
) -> Batch:
    """The target text in a decoder, or after the source in the same row."""
    target, lengths = target_text(rows, result, objective, vocabulary)
    if objective.representation != "encoder_decoder":
        return _concatenated(result, target, lengths, objective, vocabulary)
    shift = 1 if objective.shuffled_sources else 0
    if shift and len(target) == 1:
        raise ValueError(
            "objective.shuffled_sources needs batches of at least 2 sequences, but one has 1; "
            "raise batch_size"
        )
    source = read(np.roll(result.inputs, shift, axis=0), np.roll(result.lengths, shift))
    return source | _decoded(target, lengths, vocabulary, decoder_start)


def _decoded(
    target: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary, decoder_start: int
) -> Batch:
    """What a decoder reads and predicts: the text `target` [B, U] of `lengths` [B] tokens."""
    decoder = np.full_like(target, vocabulary.pad)
    decoder[:, 0] = decoder_start
    real = filled(lengths, target.shape[1])
    decoder[:, 1:] = np.where(real[:, 1:], target[:, :-1], vocabulary.pad)
    batch = {"decoder_input_ids": decoder, **_at(target, real, 0)}
    return batch if real.all() else batch | {"decoder_attention_mask": real.astype(np.int64)}


def _surrounded(rows: Rows, vocabulary: Vocabulary, decoder_start: int) -> Batch:
    """Each sentence, and the sentences after and before it, each with an end token (Kiros et al.
    2015, section 2.1). A sentence without a neighbour in its row predicts nothing there."""
    sentences = sentences_of(rows, vocabulary)
    batch = read(*_ended(sentences.tokens, sentences.lengths, vocabulary, first=True))
    for offset, prefix in ((1, ""), (-1, "previous_")):
        text, lengths = sentences.neighbours(offset)
        target, ended = _ended(text, lengths, vocabulary)
        decoded = _decoded(target, np.where(lengths > 0, ended, 0), vocabulary, decoder_start)
        if prefix:
            decoded.pop("decoder_attention_mask", None)
            decoded["input_ids"] = decoded.pop("decoder_input_ids")
        batch |= {f"{prefix}{name}": array for name, array in decoded.items()}
    return batch | {"num_tokens": sentences.num_tokens}


def _ended(
    text: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary, first: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """[B, U] texts with the last token, and with the `first` one, padded; and [B] their lengths."""
    width = padded_width(int(lengths.max()) + 1 + first)
    ended = np.full((len(text), width), vocabulary.pad)
    kept = min(width - first, text.shape[1])
    ended[:, first : first + kept] = np.where(filled(lengths, kept), text[:, :kept], vocabulary.pad)
    ended[:, :first] = vocabulary.cls
    ended[np.arange(len(text)), lengths + first] = vocabulary.sep
    return ended, lengths + 1 + first


def target_text(
    rows: Rows, result: TransformResult, objective: Objective, vocabulary: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """[B, U] target tokens with end token, padded; and [B] their lengths."""
    if objective.output.kind == "dropped_spans":
        assert result.dropped is not None
        text, lengths = result.dropped
    else:  # without the first token, and without the last, as the end token is added below
        text, lengths = rows.tokens[:, 1:], rows.lengths - 2
    return _ended(text, lengths, vocabulary)


def _concatenated(
    result: TransformResult,
    target: np.ndarray,
    lengths: np.ndarray,
    objective: Objective,
    vocabulary: Vocabulary,
) -> Batch:
    """Source and target in one row; the loss is on the target (Raffel et al. 2020, 3.2.1)."""
    total = result.lengths + lengths
    width = padded_width(int(total.max()))
    joined = np.full((len(target), width), vocabulary.pad)
    source = filled(result.lengths, result.inputs.shape[1])
    row, column = np.nonzero(source)
    joined[row, column] = result.inputs[source]
    real = filled(lengths, target.shape[1])
    row, column = np.nonzero(real)
    joined[row, column + result.lengths[row]] = target[real]
    predicted = filled(total, width) & ~filled(result.lengths, width)
    batch = read(joined, total) | _at(joined, predicted, -1)
    if objective.representation == "prefix":
        batch["prefix_lengths"] = result.lengths
    return batch


def count_targets(batch: Batch) -> dict[str, int]:
    """Loss name to the number of predictions, such as the M of `targets` [M], to average over."""
    real = count_real(batch)
    predicted = ("token", "soft_target", "corrected", "cooccurrence")
    counts = dict.fromkeys(predicted, len(batch["targets"]))
    counts |= dict.fromkeys(("replaced", "cosine", "hidden", "attention", "relation"), real)
    if "negatives" in batch:
        counts["sampled"] = len(batch["targets"]) + batch["negatives"].size
    if "backward_targets" in batch:
        counts["backward"] = len(batch["backward_targets"])
    if "previous_targets" in batch:
        counts["previous"] = len(batch["previous_targets"])
    if "pair_label" in batch:
        counts["pair"] = len(batch["pair_label"])
    if "span_left" in batch:
        counts["boundary"] = len(batch["span_left"])
    if "crop_input_ids" in batch:
        counts["contrast"] = 2 * len(batch["crop_input_ids"])  # each view against all others
    return counts


def count_real(batch: Batch) -> int:
    """Tokens of the inputs [B, T] without padding."""
    mask = batch.get("attention_mask")
    return int(batch["input_ids"].size if mask is None else mask.sum())
