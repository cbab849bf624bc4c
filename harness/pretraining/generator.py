"""Size and architecture of the generator of replaced-token detection and corrective LM."""

from harness.models import Architecture, Size
from harness.models.counts.shapes import embedding_width
from harness.pretraining.objectives.outputs import WithGenerator

FACTORISED = ("electra", "albert")
"""Families that project between embeddings and hidden states."""


def generator_size(size: Size, output: WithGenerator) -> Size:
    """The size of the generator: whole heads as wide as the discriminator's.

    A share of 1/4, 1/3 and 1/4 gives the published generators of ELECTRA small, base and large.
    """
    heads = max(1, round(size.num_heads * output.generator_width))
    return Size(
        num_layers=max(1, round(size.num_layers * output.generator_depth)),
        hidden_size=size.hidden_size * heads // size.num_heads,
        num_heads=heads,
        intermediate_size=size.intermediate_size * heads // size.num_heads,
        head_dim=size.head_dim,
    )


def generator_architecture(
    architecture: Architecture, size: Size, output: WithGenerator
) -> Architecture:
    """The generator's architecture: token embeddings as wide as the discriminator's if shared,
    and as the generator's states otherwise (google-research/electra, run_pretraining.py).

    It is of the discriminator's family, or an ELECTRA where its states are narrower than those
    embeddings and the family has no projection between them.
    """
    shared = output.embedding_sharing != "none"
    width = embedding_width(architecture, size) if shared else None
    projected = width not in (None, generator_size(size, output).hidden_size)
    family = architecture.family if architecture.family in FACTORISED else "electra"
    changes = {"embedding_size": width, "family": family} if projected else {"embedding_size": None}
    return architecture.model_copy(update=changes)
