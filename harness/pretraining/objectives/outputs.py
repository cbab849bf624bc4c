"""Outputs: what the model predicts. Settings only; `targets` makes the batches."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from harness.core.config import ConfigModel, kind_from_name


class MaskedToken(ConfigModel):
    """The masked tokens, each at its position (Devlin et al. 2019)."""

    kind: Literal["masked_token"] = "masked_token"


class SampledToken(ConfigModel):
    """Whether a token is that of the text or a sampled one: negative sampling (Mikolov et al.
    2013b, arXiv 1310.4546, equation 4)."""

    kind: Literal["sampled_token"] = "sampled_token"
    negatives: int = Field(default=5, ge=1, le=1000)
    """Sampled tokens per predicted one, k (Mikolov et al. 2013b, section 2.2: 5 to 20 for little
    text, 2 to 5 for much)."""
    power: float = Field(default=0.75, ge=0)
    """Power of the frequency of a token that it is sampled in proportion to (Mikolov et al. 2013b,
    section 2.2: 3/4); 0 samples uniformly."""


class Cooccurrence(ConfigModel):
    """The logarithm of how often two tokens co-occur in the whole text: GloVe (Pennington et al.
    2014, EMNLP, equation 8). Updates read counts, not text."""

    kind: Literal["cooccurrence"] = "cooccurrence"
    window: int = Field(default=10, ge=1, le=1000)
    """Most tokens between which two of a document co-occur, on each side; d tokens apart, they
    count 1/d (Pennington et al. 2014, section 4.2: 10)."""
    x_max: float = Field(default=100.0, gt=0)
    """Count from which all weigh the same (Pennington et al. 2014, section 3: 100)."""
    alpha: float = Field(default=0.75, ge=0)
    """Power of the share of `x_max` that smaller counts weigh (Pennington et al. 2014, section 3:
    3/4)."""


class NextToken(ConfigModel):
    """Every token from those before it (in text order, both orders, or a random one)."""

    kind: Literal["next_token"] = "next_token"


class DroppedSpans(ConfigModel):
    """Only the dropped spans, one after another (Raffel et al. 2020, section 3.1.4)."""

    kind: Literal["dropped_spans"] = "dropped_spans"


class WholeText(ConfigModel):
    """The original text from its beginning to its end (Lewis et al. 2020, section 2)."""

    kind: Literal["whole_text"] = "whole_text"


class NeighbourSentences(ConfigModel):
    """The sentences after and before each sentence, by two decoders that see its vector alone:
    Skip-Thought (Kiros et al. 2015, section 2.1)."""

    kind: Literal["neighbour_sentences"] = "neighbour_sentences"
    pooling: Literal["native", "mean", "max"] = "native"
    """From the states of a sentence to its vector, by the names of `evaluate.protocol.pooling`, of
    which `native` is the last state of a left-to-right network (Kiros et al. 2015, section 2.1)."""


class WithGenerator(ConfigModel):
    """A generator, trained as a masked LM, fills the masked positions of the model's input."""

    generator_width: float = Field(default=1 / 3, gt=0, le=1)
    """Hidden size, heads and feed-forward of the generator as a share of the discriminator's."""
    generator_depth: float = Field(default=1.0, gt=0, le=1)
    """Layers of the generator as a share of the discriminator's (DeBERTaV3: 0.5)."""
    embedding_sharing: Literal["shared", "gradient_disentangled", "none"] = "shared"
    """`shared`: one table for both (ELECTRA); `gradient_disentangled`: the discriminator adds its
    own table to the generator's, which gets no gradient from it (He et al. 2023, for
    replaced_token alone)."""


class ReplacedToken(WithGenerator):
    """A small generator fills the masked positions; the model predicts for each token whether it is
    the original one (Clark et al. 2020, section 2)."""

    kind: Literal["replaced_token"] = "replaced_token"
    discriminator_weight: float = Field(default=50.0, ge=0)
    """Weight of the discriminator's loss beside the generator's (Clark et al. 2020, appendix A)."""


class Contrast(ConfigModel):
    """Sequence contrastive learning (Meng et al. 2021, section 3.2): the corrupted text and a crop
    of the original are closer to each other than to the other sequences of the micro-batch."""

    weight: float = Field(default=1.0, gt=0)
    """Weight beside the generator's loss (microsoft/COCO-LM, scl_loss_weight: 1)."""
    temperature: float = Field(default=1.0, gt=0)
    """Divides the cosines (microsoft/COCO-LM: 1)."""
    crop: float = Field(default=0.9, gt=0, le=1)
    """Share of the text that a crop keeps, one contiguous span (Meng et al. 2021, section 3.2)."""


class CorrectedToken(WithGenerator):
    """A generator fills the masked positions; the model restores the original tokens there, and
    predicts for each token whether to copy it (Meng et al. 2021, section 3.2)."""

    kind: Literal["corrected_token"] = "corrected_token"
    generator_width: float = Field(default=1.0, gt=0, le=1)
    """Hidden size, heads and feed-forward of the generator as a share of the main network's."""
    generator_depth: float = Field(default=1 / 3, gt=0, le=1)
    """Layers of the generator as a share of the main network's (Meng et al. 2021, section 3.2: 1/3
    for base, 1/4 for large)."""
    copy_weight: float = Field(default=50.0, gt=0)
    """Weight of the copy loss (microsoft/COCO-LM, binary_loss_weight: 50)."""
    contrast: Contrast | None = Contrast()
    """Sequence contrastive learning; null for none."""

    @model_validator(mode="after")
    def _whole_embeddings(self) -> Self:
        # The token head is tied to the trained table, which is a difference of two and zero at
        # first; the saved network has their sum.
        if self.embedding_sharing == "gradient_disentangled":
            raise ValueError(
                "embedding_sharing must be shared or none with the output corrected_token, whose "
                "token head is tied to the embeddings, but is gradient_disentangled"
            )
        return self


OutputKind = Literal[
    "masked_token",
    "sampled_token",
    "cooccurrence",
    "next_token",
    "dropped_spans",
    "whole_text",
    "neighbour_sentences",
    "replaced_token",
    "corrected_token",
]
Output = Annotated[
    Annotated[
        MaskedToken
        | SampledToken
        | Cooccurrence
        | NextToken
        | DroppedSpans
        | WholeText
        | NeighbourSentences
        | ReplacedToken
        | CorrectedToken,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_from_name),
]
"""An output by its fields, or by its kind alone."""
