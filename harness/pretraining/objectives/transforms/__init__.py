"""Transforms: what becomes of the text before the model reads it.

Each is a pure function of (settings, rows, generator, vocabulary) over a whole batch. The values
stand here; the functions in the files beside this one, found by kind in
`corrupting.CORRUPTIONS`.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from harness.core.config import ConfigModel, kind_from_name


class Identity(ConfigModel):
    """The text as it is."""

    kind: Literal["none"] = "none"


class Masking(ConfigModel):
    """What the masking transforms share (Devlin et al. 2019, section 3.1)."""

    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens of a sequence chosen for prediction."""
    mask_token_rate: float = Field(default=0.8, ge=0, le=1)
    """Share of the chosen tokens that become the mask token."""
    random_token_rate: float = Field(default=0.1, ge=0, le=1)
    """Share of the chosen tokens that become a random token; the rest stay as they are."""

    @model_validator(mode="after")
    def _rates(self) -> "Masking":
        total = self.mask_token_rate + self.random_token_rate
        if total > 1 + 1e-9:
            raise ValueError(
                f"mask_token_rate + random_token_rate must be at most 1, but they sum to {total:g}"
            )
        return self


class TokenMasking(Masking):
    """Single tokens, or whole words, hidden at random (Devlin et al. 2019, section 3.1)."""

    kind: Literal["token_masking"] = "token_masking"
    whole_word: bool = False
    """Choose whole words instead of single word pieces."""
    with_replacement: bool = False
    """Draw positions with replacement, so that fewer distinct ones are chosen
    (google-research/electra, pretrain_helpers.py)."""

    @model_validator(mode="after")
    def _one_way_of_choosing(self) -> "TokenMasking":
        if self.whole_word and self.with_replacement:
            raise ValueError("whole words are drawn without replacement: drop one of the two")
        return self


class NgramMasking(Masking):
    """N-grams of whole words, length n with p(n) ~ 1/n (Lan et al. 2020, section 3.1)."""

    kind: Literal["ngram_masking"] = "ngram_masking"
    max_ngram: int = Field(default=3, ge=1)
    """Longest n-gram, in words."""


class SpanMasking(Masking):
    """Spans of whole words of geometric length; a span shares its fate (Joshi et al. 2020, 3.1)."""

    kind: Literal["span_masking"] = "span_masking"
    geometric_p: float = Field(default=0.2, gt=0, lt=1)
    """Parameter of the geometric distribution of span lengths."""
    max_span_length: int = Field(default=10, ge=1)
    """Longest span, in words."""


class SpanCorruption(ConfigModel):
    """Noise and what stands in its place: the denoising family of T5 (Raffel et al. 2020, 3.3)."""

    kind: Literal["span_corruption"] = "span_corruption"
    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that are noise (T5: noise_density)."""
    noise: Literal["random_spans", "iid"] = "random_spans"
    """`random_spans`: an exact number of spans of a mean length; `iid`: each token by itself."""
    mean_span_length: float = Field(default=3.0, ge=1)
    """Mean tokens of a random span."""
    replacement: Literal["sentinel", "mask_token", "drop"] = "sentinel"
    """In the place of the noise: one sentinel for each span, numbered; a mask token for each token
    (MASS, and BERT-style with random tokens); or nothing."""
    random_token_rate: float = Field(default=0.0, ge=0, le=1)
    """Under `mask_token`, the share of the noise that becomes a random token (BERT-style: 0.1)."""


class Prefix(ConfigModel):
    """A random cut: what stands before it is given, the rest is to be told (T5, section 3.2.3)."""

    kind: Literal["prefix"] = "prefix"
    min_target_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Smallest share of the text that is to be told."""
    max_target_fraction: float = Field(default=1.0, gt=0, le=1)
    """Largest share of the text that is to be told."""

    @model_validator(mode="after")
    def _order(self) -> "Prefix":
        if self.min_target_fraction > self.max_target_fraction:
            raise ValueError(
                "min_target_fraction must be at most max_target_fraction = "
                f"{self.max_target_fraction:g}, but is {self.min_target_fraction:g}"
            )
        return self


class Deshuffling(ConfigModel):
    """All tokens in a random order (T5, section 3.3.1; Liu et al. 2019b)."""

    kind: Literal["deshuffling"] = "deshuffling"


class Denoising(ConfigModel):
    """BART's five noises in any mixture (Lewis et al. 2020, section 2.2), in fairseq's order:
    sentences permuted, tokens masked or infilled, tokens deleted, text rotated."""

    kind: Literal["denoising"] = "denoising"
    mask_rate: float = Field(default=0.0, ge=0, lt=1)
    """Token masking: share of the tokens that become a mask token, one for one."""
    delete_rate: float = Field(default=0.0, ge=0, lt=1)
    """Token deletion: share of the tokens that vanish."""
    infill_rate: float = Field(default=0.0, ge=0, lt=1)
    """Text infilling: share of the tokens in spans that become one mask token each."""
    poisson_lambda: float = Field(default=3.0, ge=0.5)
    """Mean length of an infilled span; spans of length 0 insert a mask token."""
    permute_sentences: float = Field(default=0.0, ge=0, le=1)
    """Share of the sentences that are put in a random order."""
    rotate_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of the sequences that start at a random token."""


class PermutationOrder(ConfigModel):
    """A random factorisation order, and the tokens to predict in it (Yang et al. 2019, 2.2-2.3)."""

    kind: Literal["permutation_order"] = "permutation_order"
    max_span_length: int = Field(default=5, ge=1)
    """Spans to predict are of 1 to this many tokens, uniformly."""
    context_factor: int = Field(default=6, ge=2)
    """A span of L tokens is drawn from K x L tokens, so that 1/K of the text is predicted."""


Transform = Annotated[
    Annotated[
        Identity
        | TokenMasking
        | NgramMasking
        | SpanMasking
        | SpanCorruption
        | Prefix
        | Deshuffling
        | Denoising
        | PermutationOrder,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_from_name),
]
"""A transform by its fields, or by its kind alone."""

MASKING = ("token_masking", "ngram_masking", "span_masking")
"""Kinds that hide tokens in place, for the outputs that predict them there."""
