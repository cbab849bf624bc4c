"""Replaced-token detection (Clark et al. 2020, section 2): ELECTRA, and DeBERTaV3."""

from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.learners.generated_input import GeneratedInput, make_generator, of_real
from harness.pretraining.learners.heads import DetectionHead, PairHead
from harness.pretraining.learners.learner import Predictions, freeze_token_head
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import ReplacedToken
from harness.pretraining.recipes.pretrain import Pretrain


class ReplacedTokenDetection(GeneratedInput):
    """A generator fills the masked positions, and the backbone detects replaced tokens.

    Both train jointly: L = L_MLM(generator) + discriminator_weight x L(discriminator). DeBERTaV3
    (He et al. 2023) alternates steps of the two; as no gradient passes between them, the joint step
    differs only in one clipping norm for both, and in samples from the generator before its step.
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
        head = DetectionHead(discriminator.hidden_size, initializer_range)
        pair_head = PairHead(discriminator.hidden_size, initializer_range) if pair else None
        super().__init__(discriminator, generator, output)
        self.head, self.pair_head = head, pair_head
        self.weights = {"replaced": output.discriminator_weight}
        freeze_token_head(discriminator)  # only the generator predicts tokens

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of the generator (`token`), the discriminator (`replaced`) and pairs."""
        guesses, inputs, replaced = self.generated(batch)
        states = self.backbone(**inputs).last_hidden_state
        predictions = {
            "token": (guesses, batch["targets"]),
            "replaced": of_real(self.head(states), replaced, batch),
        }
        if self.pair_head is not None and "pair_label" in batch:
            predictions["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        return predictions


def make_replaced_token(spec: Pretrain, tokens: Tokens, seed: int) -> ReplacedTokenDetection:
    """The learner of a declared run."""
    objective = spec.objectives[-1]
    output = objective.output
    assert isinstance(output, ReplacedToken)
    generator = make_generator(spec, tokens, output, seed)
    return ReplacedTokenDetection(
        build(spec.model, spec.size, tokens, spec.representation, seed),
        generator,
        output,
        spec.model.initializer_range,
        pair=objective.sentence_pair != "none",
    )
