"""FLOPs of training on one sequence, by objective and by `harness.budget.FLOPS_CONVENTION`.

Every network that takes part counts: generator and discriminator, student and teacher.
"""

from harness.models import Architecture, Size
from harness.models.counts.shapes import embedding_width
from harness.models.flops import forward_flops, replaced_head
from harness.models.generator import generator_architecture, generator_size
from harness.objectives import Distillation, Objective
from harness.objectives.accounting import Lengths
from harness.objectives.outputs import ReplacedToken

TRAINING = 3
"""Forward and backward to forward: a gradient for the input and one for the weights."""
PLACE_SIZE = 200
"""Width of the embedding of a token's place in its span (Joshi et al. 2020, section 4.2)."""


def objective_flops(
    objective: Objective,
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    lengths: Lengths,
    *,
    teacher: tuple[Architecture, Size] | None = None,
    batch_size: int = 1,
) -> float:
    """FLOPs of a forward and a backward pass over one sequence.

    Args:
        lengths: of the sequence under the objective.
        teacher: the network that is learned from, whose forward pass alone counts.
        batch_size: sequences that are read at once.
    """
    if isinstance(objective.output, ReplacedToken):
        trained = _replaced(objective.output, architecture, size, vocab_size, lengths, batch_size)
    else:
        trained = forward_flops(
            architecture,
            size,
            vocab_size,
            lengths,
            representation=objective.representation,
            batch_size=batch_size,
        )
    trained += 2.0 * _further_heads(objective, architecture, size, vocab_size, lengths)
    if not (teacher and objective.distillation):
        return TRAINING * trained
    trained += 2.0 * _matching(objective.distillation, size, teacher[1], lengths)
    taught = forward_flops(*teacher, vocab_size, lengths, batch_size=batch_size)
    return TRAINING * trained + taught


def _replaced(
    output: ReplacedToken,
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    lengths: Lengths,
    batch_size: int,
) -> float:
    """Generator at the hidden tokens, discriminator at all (Clark et al. 2020, section 2)."""
    small = generator_size(size, output)
    makes = generator_architecture(architecture, size, output)
    generator = forward_flops(makes, small, vocab_size, lengths, batch_size=batch_size)
    alone = Lengths(lengths.source)
    discriminator = forward_flops(architecture, size, vocab_size, alone, batch_size=batch_size)
    return generator + discriminator + 2.0 * lengths.source * replaced_head(size)


def _further_heads(
    objective: Objective, architecture: Architecture, size: Size, vocab_size: int, lengths: Lengths
) -> float:
    """Multiply-adds of the pair head, and of the span boundary's two dense layers and its output
    from the states on both sides and a place (Joshi et al. 2020, section 3.2)."""
    hidden, width = size.hidden_size, embedding_width(architecture, size)
    pair = hidden**2 + 2 * hidden if objective.pair != "none" else 0
    if not objective.span_boundary:
        return float(pair)
    dense = (2 * hidden + PLACE_SIZE) * hidden + hidden * width
    return pair + lengths.predicted * (dense + width * vocab_size)


def _matching(distillation: Distillation, size: Size, teacher: Size, lengths: Lengths) -> float:
    """Multiply-adds of projecting embeddings and states to the teacher's (Jiao et al. 2020)."""
    if not distillation.hidden_weight:
        return 0.0
    return (size.num_layers + 1) * lengths.source * size.hidden_size * teacher.hidden_size
