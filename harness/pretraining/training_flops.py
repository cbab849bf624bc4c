"""FLOPs of training on one sequence, by objective and by `FLOPS_CONVENTION`.

All networks count: generator and discriminator, student and teacher.
"""

from dataclasses import dataclass, replace

from harness.models import Architecture, Size
from harness.models.counts.shapes import embedding_width
from harness.models.flops import Lengths, forward_flops, replaced_head
from harness.pretraining.generator import generator_architecture, generator_size
from harness.pretraining.objectives.objective import Distillation, Objective
from harness.pretraining.objectives.outputs import ReplacedToken

TRAINING = 3
"""Forward and backward to forward: a gradient for the input and one for the weights."""
PLACE_SIZE = 200
"""Embedding size of a token's place in its span (Joshi et al. 2020, section 4.2)."""


@dataclass(frozen=True)
class Network:
    """A network with its token head."""

    architecture: Architecture
    size: Size
    vocab_size: int

    def forward(self, lengths: Lengths, representation: str, batch_size: int = 1) -> float:
        """FLOPs of a forward pass over one sequence, in a batch of `batch_size`."""
        return forward_flops(
            self.architecture,
            self.size,
            self.vocab_size,
            lengths,
            representation=representation,
            batch_size=batch_size,
        )


def objective_flops(
    objective: Objective,
    network: Network,
    lengths: Lengths,
    *,
    teacher: Network | None = None,
    batch_size: int = 1,
) -> float:
    """FLOPs of a forward and a backward pass over one sequence.

    Args:
        lengths: expected lengths of the sequence under the objective.
        teacher: counts with its forward pass alone.
        batch_size: sequences per forward pass.
    """
    further = TRAINING * _further_heads(objective, network, lengths)
    if isinstance(objective.output, ReplacedToken):
        both = _replaced(objective.output, network, lengths, objective.representation, batch_size)
        return TRAINING * both + further
    if teacher and objective.distillation:
        return further + _distilled(objective, network, teacher, lengths, batch_size)
    return further + TRAINING * network.forward(lengths, objective.representation, batch_size)


def _replaced(
    output: ReplacedToken, network: Network, lengths: Lengths, representation: str, batch_size: int
) -> float:
    """Generator at the masked tokens, discriminator at all (Clark et al. 2020, section 2)."""
    architecture, size = network.architecture, network.size
    generator = replace(
        network,
        architecture=generator_architecture(architecture, size, output),
        size=generator_size(size, output),
    )
    generating = generator.forward(lengths, representation, batch_size)
    detecting = network.forward(Lengths(lengths.source), representation, batch_size)
    return generating + detecting + 2.0 * lengths.source * replaced_head(size)


def _distilled(
    objective: Objective, student: Network, teacher: Network, lengths: Lengths, batch_size: int
) -> float:
    """A network that predicts no tokens is counted without its token head."""
    settings, representation = objective.distillation, objective.representation
    assert settings is not None
    headless = replace(lengths, predicted=0)
    of_teacher = lengths if settings.soft_target_weight else headless
    of_student = lengths if settings.soft_target_weight or settings.token_weight else headless
    trained = student.forward(of_student, representation, batch_size)
    trained += _matching(settings, student.size, teacher.size, lengths)
    return TRAINING * trained + teacher.forward(of_teacher, representation, batch_size)


def _matching(settings: Distillation, student: Size, teacher: Size, lengths: Lengths) -> float:
    """Embeddings and states projected to the teacher's (Jiao et al. 2020, equations 8 and 9)."""
    if not settings.hidden_weight:
        return 0.0
    layers = student.num_layers + 1
    return 2.0 * layers * lengths.source * student.hidden_size * teacher.hidden_size


def _further_heads(objective: Objective, network: Network, lengths: Lengths) -> float:
    """The pair head, and the span boundary's two dense layers and output (Joshi et al. 2020,
    section 3.2)."""
    hidden = network.size.hidden_size
    width = embedding_width(network.architecture, network.size)
    pair = 2.0 * (hidden**2 + 2 * hidden) if objective.sentence_pair != "none" else 0.0
    if not objective.span_boundary:
        return pair
    dense = (2 * hidden + PLACE_SIZE) * hidden + hidden * width
    return pair + 2.0 * lengths.predicted * (dense + width * network.vocab_size)
