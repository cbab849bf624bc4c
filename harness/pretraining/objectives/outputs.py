"""Outputs: what the model predicts. Settings only; `targets` makes the batches."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from harness.core.config import ConfigModel, kind_from_name


class MaskedToken(ConfigModel):
    """The masked tokens, each at its position (Devlin et al. 2019)."""

    kind: Literal["masked_token"] = "masked_token"


class NextToken(ConfigModel):
    """Every token from those before it (in text order, both orders, or a random one)."""

    kind: Literal["next_token"] = "next_token"


class DroppedSpans(ConfigModel):
    """Only the dropped spans, one after another (Raffel et al. 2020, section 3.1.4)."""

    kind: Literal["dropped_spans"] = "dropped_spans"


class WholeText(ConfigModel):
    """The original text from its beginning to its end (Lewis et al. 2020, section 2)."""

    kind: Literal["whole_text"] = "whole_text"


class ReplacedToken(ConfigModel):
    """A small generator fills the masked positions; the model predicts for each token whether it is
    the original one (Clark et al. 2020, section 2)."""

    kind: Literal["replaced_token"] = "replaced_token"
    generator_width: float = Field(default=1 / 3, gt=0, le=1)
    """Hidden size, heads and feed-forward of the generator as a share of the discriminator's."""
    generator_depth: float = Field(default=1.0, gt=0, le=1)
    """Layers of the generator as a share of the discriminator's (DeBERTaV3: 0.5)."""
    discriminator_weight: float = Field(default=50.0, ge=0)
    """Weight of the discriminator's loss beside the generator's (Clark et al. 2020, appendix A)."""
    embedding_sharing: Literal["shared", "gradient_disentangled", "none"] = "shared"
    """`shared`: one table for both (ELECTRA); `gradient_disentangled`: the discriminator adds its
    own table to the generator's, which gets no gradient from it (He et al. 2023)."""


OutputKind = Literal["masked_token", "next_token", "dropped_spans", "whole_text", "replaced_token"]
Output = Annotated[
    Annotated[
        MaskedToken | NextToken | DroppedSpans | WholeText | ReplacedToken,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_from_name),
]
"""An output by its fields, or by its kind alone."""
