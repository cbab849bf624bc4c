"""Embeddings that the generator and the discriminator of replaced-token detection share.

Shapes: B sequences, T tokens, E embedding width, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from harness.models.backbone import Backbone

BERT_LIKE = {"bert", "roberta", "albert", "electra"}
"""Families with BERT's embedding layer: tokens, positions and segments of one width, and a norm."""


class DisentangledEmbedding(nn.Embedding):
    """E_D = stop_gradient(E_G) + E_delta (He et al. 2023, section 3.3); `weight` is E_delta.

    E_delta is zero at first, as in microsoft/DeBERTa, rtd_task.py.
    """

    def __init__(self, base: nn.Embedding) -> None:
        super().__init__(base.num_embeddings, base.embedding_dim, base.padding_idx)
        nn.init.zeros_(self.weight)
        self._base = (base,)  # in a tuple, so that only the generator registers it

    @property
    def base(self) -> nn.Embedding:
        """E_G."""
        return self._base[0]

    def forward(self, input: Tensor) -> Tensor:
        """[B, T] tokens to [B, T, E]."""
        base: Tensor = self.base(input)
        return super().forward(input) + base.detach()


def share_embeddings(discriminator: Backbone, generator: Backbone) -> None:
    """Gives the generator the discriminator's embeddings (Clark et al. 2020, section 3.2).

    Token, position and segment embeddings with their norm, as in google-research/electra, where
    both networks lay them out alike; otherwise the tokens' alone. The generator's output matrix is
    tied to them.
    """
    if _alike(discriminator, generator):
        generator.network.base_model.embeddings = discriminator.network.base_model.embeddings
    else:
        generator.network.set_input_embeddings(discriminator.network.get_input_embeddings())
    generator.network.tie_weights()


def _alike(discriminator: Backbone, generator: Backbone) -> bool:
    """Whether one embedding layer fits both."""
    families = {discriminator.family, generator.family}
    if families <= BERT_LIKE:
        return True
    return len(families) == 1 and discriminator.hidden_size == generator.hidden_size


def disentangle_embeddings(
    discriminator: Backbone, generator: Backbone
) -> list[DisentangledEmbedding]:
    """Replaces the discriminator's token embeddings, and position embeddings of the generator's
    shape, by sums with the generator's; returns the new tables."""
    shared = generator.network.get_input_embeddings()
    assert isinstance(shared, nn.Embedding)
    tokens = DisentangledEmbedding(shared)
    discriminator.network.set_input_embeddings(tokens)
    discriminator.network.tie_weights()
    ours, theirs = (
        getattr(backbone.network.base_model, "embeddings", None)
        for backbone in (generator, discriminator)
    )
    base = getattr(ours, "position_embeddings", None)
    replaced = getattr(theirs, "position_embeddings", None)
    if base is None or replaced is None or base.weight.shape != replaced.weight.shape:
        return [tokens]
    assert theirs is not None
    theirs.position_embeddings = DisentangledEmbedding(base)
    return [tokens, theirs.position_embeddings]


@contextmanager
def summed(tables: Sequence[DisentangledEmbedding]) -> Iterator[None]:
    """Context in which the weight of each table is E_D; E_delta is restored exactly."""
    deltas = [table.weight.detach().clone() for table in tables]
    with torch.no_grad():
        for table in tables:
            table.weight += table.base.weight
        try:
            yield
        finally:
            for table, delta in zip(tables, deltas, strict=True):
                table.weight.copy_(delta)
