"""Replaced-token detection (Clark et al. 2020, section 2): ELECTRA, and DeBERTaV3.

Shapes: B sequences, T tokens, H hidden size, M predictions, N real tokens, V vocabulary.
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
from harness.pretraining.learners.heads import DetectionHead, PairHead
from harness.pretraining.learners.learner import (
    Learner,
    Predictions,
    freeze_token_head,
    gather,
    network_inputs,
)
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import ReplacedToken
from harness.pretraining.recipes.pretrain import Pretrain

EVALUATION_SEED = 0
"""Of the generator's samples in held-out text, the same for each batch at every time."""
GENERATOR = 1
"""Second element of the seed of the generator's initial weights."""


class ReplacedTokenDetection(Learner):
    """A generator fills the masked positions, and the backbone detects replaced tokens.

    Both train jointly: L = L_MLM(generator) + discriminator_weight x L(discriminator). DeBERTaV3
    (He et al. 2023) alternates steps of the two; as no gradient passes between them, the joint step
    differs only in one clipping norm for both, and in samples from the generator before its step.

    Samples are drawn from torch's generator, which is seeded at each step (as with dropout, another
    split of the batch into parts gives other draws); on several devices, from one seeded alike on
    all, so that the samples do not depend on the number of devices. In evaluation it is seeded with
    EVALUATION_SEED for each batch, so that predictions there are reproducible.
    """

    def __init__(
        self,
        discriminator: Backbone,
        generator: Backbone,
        output: ReplacedToken,
        initializer_range: float,
        *,
        pair: bool = False,
    ) -> None:
        super().__init__(discriminator)
        self.generator = generator
        self.head = DetectionHead(discriminator.hidden_size, initializer_range)
        self.pair_head = PairHead(discriminator.hidden_size, initializer_range) if pair else None
        self.weights = {"replaced": output.discriminator_weight}
        self.metric_prefixes = {"token": "generator"}
        self.disentangled: list[DisentangledEmbedding] = []
        if output.embedding_sharing == "shared":
            share_embeddings(discriminator, generator)
        elif output.embedding_sharing == "gradient_disentangled":
            self.disentangled = disentangle_embeddings(discriminator, generator)
        freeze_token_head(discriminator)  # only the generator predicts tokens

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of the generator (`token`), the discriminator (`replaced`) and pairs."""
        inputs = network_inputs(batch)
        guessed = self.generator(**inputs).last_hidden_state
        guesses = self.generator.token_logits(gather(guessed, batch["positions"]))
        inputs["input_ids"], replaced = fill(batch, self.draw(guesses, batch.get("draws")))
        states = self.backbone(**inputs).last_hidden_state
        predictions = {
            "token": (guesses, batch["targets"]),
            "replaced": _of_real(self.head(states), replaced, batch),
        }
        if self.pair_head is not None and "pair_label" in batch:
            predictions["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        return predictions

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


def _of_real(logits: Tensor, replaced: Tensor, batch: TensorBatch) -> tuple[Tensor, Tensor]:
    """Logits [N, 2] and labels [N] without padding. The logit of "original" is 0, so that
    cross-entropy is the binary one."""
    real = batch.get("attention_mask", torch.ones_like(replaced)).bool()
    kept, labels = logits[real], replaced[real]
    return torch.stack((torch.zeros_like(kept), kept), dim=-1), labels


def make_replaced_token(spec: Pretrain, tokens: Tokens, seed: int) -> ReplacedTokenDetection:
    """The learner of a declared run; the generator's initial weights have a seed of their own."""
    objective = spec.objectives[-1]
    output = objective.output
    assert isinstance(output, ReplacedToken)
    generator = build(
        generator_architecture(spec.model, spec.size, output),
        generator_size(spec.size, output),
        tokens,
        spec.representation,
        seed=int(np.random.SeedSequence((seed, GENERATOR)).generate_state(1)[0]),
    )
    return ReplacedTokenDetection(
        build(spec.model, spec.size, tokens, spec.representation, seed),
        generator,
        output,
        spec.model.initializer_range,
        pair=objective.sentence_pair != "none",
    )
