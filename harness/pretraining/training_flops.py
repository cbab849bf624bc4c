"""FLOPs of training on one sequence, by objective and by `FLOPS_CONVENTION`.

All networks count: generator and discriminator, student and teacher.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from harness.models import Architecture
from harness.models.counts.shapes import embedding_width
from harness.models.flops import Lengths, forward_flops, replaced_head, token_head
from harness.pretraining.generator import generator_architecture, generator_size
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import (
    Contrast,
    Cooccurrence,
    CorrectedToken,
    NeighbourSentences,
    ReplacedToken,
    SampledToken,
)
from harness.pretraining.objectives.sample_rows import SENTENCE, SPECIALS
from harness.pretraining.settings import PretrainSettings

TRAINING = 3
"""Forward and backward to forward: a gradient for the input and one for the weights."""
PLACE_SIZE = 200
"""Embedding size of a token's place in its span (Joshi et al. 2020, section 4.2)."""


def objective_flops(objective: Objective, run: PretrainSettings, lengths: Lengths) -> float:
    """FLOPs of a forward and a backward pass over one sequence; of a teacher, forward alone.

    Args:
        objective: that of the run, or of a component of its mixture.
        lengths: expected lengths of the sequence under the objective.
    """
    forward = partial(
        forward_flops,
        vocab_size=_alternatives(objective, run),
        representation=objective.representation,
        batch_size=run.batch_size,
    )
    further = TRAINING * _further_heads(objective, run, lengths)
    if isinstance(objective.output, ReplacedToken):
        return TRAINING * _replaced(objective.output, run, lengths, forward) + further
    if isinstance(objective.output, CorrectedToken):
        return _corrected(objective.output, run, lengths, forward) + further
    if isinstance(objective.output, NeighbourSentences):
        return TRAINING * _surrounded(run, lengths, forward)
    if run.teacher and objective.distillation:
        return further + _distilled(objective.distillation, run, run.teacher, lengths, forward)
    return further + TRAINING * forward(run.model, run.size, lengths=lengths)


def _alternatives(objective: Objective, run: PretrainSettings) -> int:
    """Output vectors that each prediction is compared with."""
    output = objective.output
    if isinstance(output, Cooccurrence):
        return 1
    return 1 + output.negatives if isinstance(output, SampledToken) else run.tokenizer.vocab_size


def _replaced(
    output: ReplacedToken, run: PretrainSettings, lengths: Lengths, forward: Callable[..., float]
) -> float:
    """Generator at the masked tokens, discriminator at all (Clark et al. 2020, section 2)."""
    generator = generator_architecture(run.model, run.size, output)
    generating = forward(generator, generator_size(run.size, output), lengths=lengths)
    detecting = forward(run.model, run.size, lengths=Lengths(lengths.source))
    return generating + detecting + 2.0 * lengths.source * replaced_head(run.size)


def _corrected(
    output: CorrectedToken, run: PretrainSettings, lengths: Lengths, forward: Callable[..., float]
) -> float:
    """Generator and main network at the masked tokens, the copy head at all, and the contrast (Meng
    et al. 2021, section 3.2). With dropout, the generator is read once more, to be sampled."""
    generator = generator_architecture(run.model, run.size, output)
    generating = forward(generator, generator_size(run.size, output), lengths=lengths)
    trained = generating + forward(run.model, run.size, lengths=lengths)
    trained += 2.0 * lengths.source * run.size.hidden_size
    if output.contrast:
        trained += _contrasted(output.contrast, run, lengths, forward)
    return TRAINING * trained + (generating if has_dropout(run.model) else 0.0)


def _surrounded(run: PretrainSettings, lengths: Lengths, forward: Callable[..., float]) -> float:
    """The network at each sentence of a row, and a step of a GRU of three gates for each predicted
    token, which reads its embedding, the vector and the state (Kiros et al. 2015, section 2.1)."""
    number = math.ceil(lengths.source / (SENTENCE + SPECIALS))
    encoded = number * forward(run.model, run.size, lengths=Lengths(lengths.source / number))
    hidden = run.size.hidden_size
    step = 3 * hidden * (embedding_width(run.model, run.size) + 2 * hidden)
    head = token_head(run.model, run.size, run.tokenizer.vocab_size)
    return encoded + 2.0 * lengths.predicted * (step + head)


def has_dropout(model: Architecture) -> bool:
    """Whether training differs from evaluation."""
    return model.dropout > 0 or model.attention_dropout > 0


def _contrasted(
    contrast: Contrast, run: PretrainSettings, lengths: Lengths, forward: Callable[..., float]
) -> float:
    """The crop, a dense layer for both views, and their cosines with those of the whole batch."""
    crop = Lengths(max(1, int(contrast.crop * (lengths.source - SPECIALS))) + SPECIALS)
    hidden, views = run.size.hidden_size, 2 * run.batch_size
    heads = 2.0 * 2 * hidden * (hidden + views)
    return forward(run.model, run.size, lengths=crop) + heads


def _distilled(
    settings: Distillation,
    student: PretrainSettings,
    teacher: PretrainSettings,
    lengths: Lengths,
    forward: Callable[..., float],
) -> float:
    """A network that predicts no tokens is counted without its token head."""
    headless = replace(lengths, predicted=0)
    of_teacher = lengths if settings.soft_target_weight else headless
    of_student = lengths if settings.soft_target_weight or settings.token_weight else headless
    trained = forward(student.model, student.size, lengths=of_student)
    if settings.hidden_weight:  # states projected to the teacher's (Jiao et al. 2020, eq. 8 and 9)
        states = 2.0 * (student.size.num_layers + 1) * lengths.source
        trained += states * student.size.hidden_size * teacher.size.hidden_size
    taught = forward(teacher.model, teacher.size, lengths=of_teacher)
    if settings.relations:  # among queries, keys and values of a layer (Wang et al. 2021, 3.1)
        products = 3 * 2.0 * lengths.source**2
        trained += products * student.size.attention_size
        taught += products * teacher.size.attention_size
    return TRAINING * trained + taught


def _further_heads(objective: Objective, run: PretrainSettings, lengths: Lengths) -> float:
    """The pair head, and the span boundary's two dense layers and output (Joshi et al. 2020,
    section 3.2)."""
    hidden = run.size.hidden_size
    width = embedding_width(run.model, run.size)
    pair = 2.0 * (hidden**2 + 2 * hidden) if objective.sentence_pair != "none" else 0.0
    if not objective.span_boundary:
        return pair
    dense = (2 * hidden + PLACE_SIZE) * hidden + hidden * width
    return pair + 2.0 * lengths.predicted * (dense + width * run.tokenizer.vocab_size)
