"""COCO-LM: corrective language modelling and sequence contrastive learning (Meng et al. 2021,
section 3.2; where the paper is silent, microsoft/COCO-LM).

Shapes: B sequences, T tokens, M predictions, H hidden size, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.learners.generated_input import GeneratedInput, make_generator, of_real
from harness.pretraining.learners.heads import PairHead, SequenceHead
from harness.pretraining.learners.learner import Predictions, gather, network_inputs
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import CorrectedToken
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.training_flops import has_dropout

CROP = "crop_"
"""Prefix of the arrays of the cropped text."""


class CorrectiveLM(GeneratedInput):
    """A generator fills the masked positions, and the backbone corrects the replaced tokens.

    L = L_MLM(generator) + copy_weight x L_copy + L_LM + contrast.weight x L_SCL. The generator's
    dropout is off when it is sampled (section 3.2).

    Negatives of the contrast are the other sequences of a micro-batch on one device, as in
    microsoft/COCO-LM, criterions/cocolm.py, so that smaller micro-batches have fewer.
    """

    def __init__(
        self,
        backbone: Backbone,
        generator: Backbone,
        output: CorrectedToken,
        initializer_range: float,
        *,
        pair: bool = False,
        dropout: bool = False,
    ) -> None:
        hidden = backbone.hidden_size
        copy_head = nn.Linear(hidden, 1)  # p_copy is a function of w h (section 3.2)
        nn.init.normal_(copy_head.weight, std=initializer_range)
        nn.init.zeros_(copy_head.bias)
        sequence_head = SequenceHead(hidden, initializer_range) if output.contrast else None
        pair_head = PairHead(hidden, initializer_range) if pair else None
        super().__init__(backbone, generator, output)
        self.copy_head, self.sequence_head, self.pair_head = copy_head, sequence_head, pair_head
        self.samples_with_dropout = not dropout
        self.contrast = output.contrast
        self.weights = {"replaced": output.copy_weight}
        if output.contrast:
            self.weights["contrast"] = output.contrast.weight

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of the generator (`token`), whether a token is to be copied (`replaced`), the original
        tokens (`corrected`), which sequence is a crop of the same text (`contrast`), and pairs."""
        guesses, inputs, replaced = self.generated(batch)
        states, positions = self.backbone(**inputs).last_hidden_state, batch["positions"]
        changed = self.copy_head(states).squeeze(-1)
        shares = with_copies(
            self.backbone.token_logits(gather(states, positions)),
            changed.flatten()[positions],
            inputs["input_ids"].flatten()[positions],
        )
        predictions = {
            "token": (guesses, batch["targets"]),
            "replaced": of_real(changed, replaced, batch),
            "corrected": (shares, batch["targets"]),
        }
        if self.contrast and self.sequence_head is not None and f"{CROP}input_ids" in batch:
            views = self.sequence_head(torch.cat((states[:, 0], self._of_crop(batch)[:, 0])))
            predictions["contrast"] = similarities(views, self.contrast.temperature)
        if self.pair_head is not None and "pair_label" in batch:
            predictions["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        return predictions

    def _of_crop(self, batch: TensorBatch) -> Tensor:
        """[B, S, H] states of the cropped text."""
        crop = {name.removeprefix(CROP): batch[name] for name in batch if name.startswith(CROP)}
        states: Tensor = self.backbone(**network_inputs(crop)).last_hidden_state
        return states


def with_copies(logits: Tensor, replaced: Tensor, read: Tensor) -> Tensor:
    """[M, V] logarithms of p(x) = 1(x = read) p_copy + (1 - p_copy) p_LM(x), whose cross-entropy at
    the original tokens is L_LM of section 3.2.

    No gradient passes to p_copy, the probability that a token is the original. The released code
    approximates the loss by (1 - p_copy) x cross-entropy of p_LM.

    Args:
        logits: [M, V] of p_LM.
        replaced: [M] logits of 1 - p_copy.
        read: [M] tokens of the input.
    """
    replaced = replaced.detach().float()[:, None]
    shares = logits.float().log_softmax(-1) + F.logsigmoid(replaced)
    copied = torch.logaddexp(shares.gather(1, read[:, None]), F.logsigmoid(-replaced))
    return shares.scatter(1, read[:, None], copied)


def similarities(views: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """[2B, 2B] cosines of each view with each other, over the temperature, and [2B] the index of
    the other view of the same text; -inf for a view with itself.

    Args:
        views: [2B, H]; those of text i are i and B + i.
    """
    views = F.normalize(views.float(), dim=-1)
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    cosines = (views @ views.T / temperature).masked_fill(itself, -torch.inf)
    return cosines, torch.arange(len(views), device=views.device).roll(len(views) // 2)


def make_corrective(spec: Pretrain, tokens: Tokens, seed: int) -> CorrectiveLM:
    """The learner of a declared run."""
    objective = spec.objectives[-1]
    output = objective.output
    assert isinstance(output, CorrectedToken)
    generator = make_generator(spec, tokens, output, seed)
    return CorrectiveLM(
        build(spec.model, spec.size, tokens, spec.representation, seed),
        generator,
        output,
        spec.model.initializer_range,
        pair=objective.sentence_pair != "none",
        dropout=has_dropout(spec.model),
    )
