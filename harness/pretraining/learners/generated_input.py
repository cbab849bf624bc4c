"""Learners whose backbone reads text with tokens sampled from a generator: replaced-token detection
(Clark et al. 2020) and corrective language modelling (Meng et al. 2021).

Shapes: B sequences, T tokens, M predictions, N real tokens, V vocabulary.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.generator import generator_architecture, generator_size
from harness.pretraining.learners.embedding_sharing import (
    DisentangledEmbedding,
    disentangle_embeddings,
    share_embeddings,
    summed,
)
from harness.pretraining.learners.learner import Learner, gather, network_inputs
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import WithGenerator
from harness.pretraining.recipes.pretrain import Pretrain

EVALUATION_SEED = 0
"""Of the generator's samples in held-out text, the same for each batch at every time."""
GENERATOR = 1
"""Second element of the seed of the generator's initial weights."""


class GeneratedInput(Learner):
    """A generator, a masked LM, fills the masked positions; the backbone reads the result.

    Samples are drawn from torch's generator, which is seeded at each step (as with dropout, another
    split of the batch into parts gives other draws); on several devices, from one seeded alike on
    all, so that the samples do not depend on the number of devices. In evaluation it is seeded with
    EVALUATION_SEED for each batch, so that predictions there are reproducible.

    Attributes:
        samples_with_dropout: whether the distributions that are sampled are those of the
            generator's training, with dropout, or computed apart, without.
    """

    def __init__(self, backbone: Backbone, generator: Backbone, output: WithGenerator) -> None:
        super().__init__(backbone)
        self.generator = generator
        self.samples_with_dropout = True
        self.metric_prefixes = {"token": "generator"}
        self.disentangled: list[DisentangledEmbedding] = []
        if output.embedding_sharing == "shared":
            share_embeddings(backbone, generator)
        elif output.embedding_sharing == "gradient_disentangled":
            self.disentangled = disentangle_embeddings(backbone, generator)

    def generated(self, batch: TensorBatch) -> tuple[Tensor, TensorBatch, Tensor]:
        """The generator's logits [M, V], the inputs of the backbone, and [B, T] 1 at replaced
        tokens."""
        inputs = network_inputs(batch)
        guesses = self._guesses(inputs, batch)
        sampled = guesses
        if self.training and not self.samples_with_dropout:
            with torch.no_grad():
                self.generator.eval()
                sampled = self._guesses(inputs, batch)
                self.generator.train()
        inputs["input_ids"], replaced = fill(batch, self.draw(sampled, batch.get("draws")))
        return guesses, inputs, replaced

    def _guesses(self, inputs: TensorBatch, batch: TensorBatch) -> Tensor:
        """[M, V] logits of the generator at the chosen positions."""
        states = self.generator(**inputs).last_hidden_state
        return self.generator.token_logits(gather(states, batch["positions"]))

    def draw(self, logits: Tensor, share: Tensor | None = None) -> Tensor:
        """[M] tokens, one from each distribution [M, V], without gradient.

        Args:
            share: the array `draws` of `harness.pretraining.objectives.shares`, if any.
        """
        if self.training and share is not None:
            return sample_share(logits, *share.tolist())
        if self.training:
            return sample(logits)
        return sample(logits, torch.Generator(logits.device).manual_seed(EVALUATION_SEED))

    def init_from(self, weights: dict[str, Tensor]) -> None:
        """As `Learner.init_from`; disentangled embeddings [V, E] of the generator are set to the
        loaded ones, and the difference to zero."""
        super().init_from(weights)
        with torch.no_grad():
            for table in self.disentangled:
                table.base.weight.copy_(table.weight)
                table.weight.zero_()

    def save(self, folder: Path) -> None:
        """Saves the discriminator, with the sum of its two embedding tables."""
        with summed(self.disentangled):
            super().save(folder)


def sample(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """[M] tokens from the softmax of [M, V], by the Gumbel-max trick at temperature 1
    (google-research/electra, pretrain_helpers.py `sample_from_softmax`)."""
    waits = torch.empty_like(logits, dtype=torch.float32, requires_grad=False)
    return _drawn(logits, waits.exponential_(generator=generator))


def sample_share(logits: Tensor, seed: int, total: int, before: int) -> Tensor:
    """[M] tokens from the softmax of [M, V], as `sample` draws them for all devices together.

    Args:
        seed: of the draws for all predictions.
        total: number of predictions of all devices.
        before: number of those before these.
    """
    generator = torch.Generator(logits.device).manual_seed(seed)
    waits = torch.empty(total, logits.shape[1], device=logits.device)
    waits.exponential_(generator=generator)
    return _drawn(logits, waits[before : before + len(logits)])


def _drawn(logits: Tensor, waits: Tensor) -> Tensor:
    """[M] tokens by exponential variables [M, V]; -log of them are Gumbel variables."""
    return (logits.detach().float() - waits.log()).argmax(-1)


def fill(batch: TensorBatch, samples: Tensor) -> tuple[Tensor, Tensor]:
    """[B, T] inputs with samples [M] at all chosen positions, and [B, T] 1 at replaced tokens.

    Chosen tokens that were left unchanged are sampled as well; a sample that equals the original
    counts as original (google-research/electra, run_pretraining.py `_get_fake_data`).
    """
    inputs, positions = batch["input_ids"], batch["positions"]
    filled = inputs.flatten().scatter(0, positions, samples)
    wrong = (samples != batch["targets"]).long()
    replaced = torch.zeros_like(filled).scatter(0, positions, wrong)
    return filled.view_as(inputs), replaced.view_as(inputs)


def of_real(logits: Tensor, replaced: Tensor, batch: TensorBatch) -> tuple[Tensor, Tensor]:
    """Logits [N, 2] and labels [N] without padding. The logit of "original" is 0, so that
    cross-entropy is the binary one."""
    if "attention_mask" in batch:
        real = batch["attention_mask"].bool()
        kept, labels = logits[real], replaced[real]
    else:  # to choose by such a mask waits for a GPU, here and in the backward pass
        kept, labels = logits.flatten(), replaced.flatten()
    return torch.stack((torch.zeros_like(kept), kept), dim=-1), labels


def make_generator(spec: Pretrain, tokens: Tokens, output: WithGenerator, seed: int) -> Backbone:
    """The generator of a declared run; its initial weights have a seed of their own."""
    return build(
        generator_architecture(spec.model, spec.size, output),
        generator_size(spec.size, output),
        tokens,
        spec.representation,
        seed=int(np.random.SeedSequence((seed, GENERATOR)).generate_state(1)[0]),
    )
