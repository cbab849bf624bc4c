"""AXIS: what the model learns to predict. Objective = transform x representation x output."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from harness.objectives.outputs import (
    DroppedSpans,
    MaskedToken,
    NextToken,
    Output,
    ReplacedToken,
    WholeText,
)
from harness.objectives.transforms import (
    MASKING,
    Denoising,
    Deshuffling,
    Identity,
    NgramMasking,
    PermutationOrder,
    Prefix,
    SpanCorruption,
    SpanMasking,
    TokenMasking,
    Transform,
)
from harness.values import Value

Representation = Literal[
    "bidirectional", "causal", "prefix", "two_way", "permuted", "encoder_decoder", "window"
]

IN_ONE_STACK = ("bidirectional", "causal", "prefix")
TO_TEXT = ("encoder_decoder", "prefix", "causal")
POSSIBLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("masked_token", ("bidirectional", "causal"), MASKING),
    ("masked_token", ("window",), ("none",)),
    ("replaced_token", ("bidirectional",), MASKING),
    ("next_token", ("causal",), ("none", *MASKING)),
    ("next_token", ("two_way",), ("none",)),
    ("next_token", ("permuted",), ("permutation_order",)),
    ("dropped_spans", TO_TEXT, ("span_corruption", "prefix")),
    (
        "whole_text",
        TO_TEXT,
        ("none", *MASKING, "span_corruption", "deshuffling", "denoising"),
    ),
)
"""(output, representations, transforms) that make an objective together."""


class Distillation(Value):
    """What a student learns from `pretrain.teacher` beside its own objective."""

    soft_target_weight: float = Field(default=5.0, ge=0)
    """Cross-entropy to the teacher's distribution at the predicted positions, both softened
    (Hinton et al. 2015); times temperature^2 (huggingface/transformers distillation: 5)."""
    temperature: float = Field(default=2.0, gt=0)
    token_weight: float = Field(default=2.0, ge=0)
    """The objective's own loss (huggingface/transformers distillation: 2)."""
    cosine_weight: float = Field(default=1.0, ge=0)
    """1 - cosine between the last hidden states, which must be equally wide (Sanh et al. 2019)."""
    hidden_weight: float = Field(default=0.0, ge=0)
    """Squared error of embeddings and hidden states after a learned projection, layer by mapped
    layer (Jiao et al. 2020)."""
    attention_weight: float = Field(default=0.0, ge=0)
    """Squared error of the attention scores, layer by mapped layer (Jiao et al. 2020)."""
    start_from_teacher: bool = False
    """Initial weights are the teacher's embeddings and every other layer (Sanh et al. 2019)."""


class Objective(Value):
    """What is hidden, how the text is read, and what is to be told; by default BERT's masked LM."""

    kind: Literal["single"] = "single"
    transform: Transform = TokenMasking()
    representation: Representation = "bidirectional"
    """Who sees whom. `prefix`: the source both ways, the target left to right; `two_way`: one
    reader for each direction (ELMo); `permuted`: a random order (XLNet); `window`: the mean of the
    neighbours (CBOW)."""
    output: Output = MaskedToken()
    masking: Literal["static", "dynamic"] = "dynamic"
    """`static`: noise drawn once per duplicate of the data (BERT); `dynamic`: anew at each step."""
    duplicates: int = Field(default=10, ge=1)
    """Different drawings of the data: of noise where masking is static, and of random pairs."""
    pair: Literal["nsp", "sop", "none"] = "none"
    """Sentence-pair loss beside the output: next sentence (BERT), order (ALBERT), none."""
    span_boundary: bool = False
    """Predict each hidden token from the two tokens around its span, too (Joshi et al. 2020)."""
    distillation: Distillation | None = None
    """Learn from `pretrain.teacher`, too."""

    @property
    def components(self) -> tuple[tuple[float, "Objective"], ...]:
        """(weight, objective) of what is mixed: this one alone."""
        return ((1.0, self),)

    @property
    def formula(self) -> str:
        """`token_masking x bidirectional x masked_token, nsp`."""
        terms = f"{self.transform.kind} x {self.representation} x {self.output.kind}"
        extras = {
            self.pair: self.pair != "none",
            "span boundary": self.span_boundary,
            "distillation": self.distillation,
        }
        return ", ".join((terms, *(name for name, given in extras.items() if given)))

    @model_validator(mode="after")
    def _possible(self) -> "Objective":
        _check_combination(self)
        if self.pair != "none" and self.representation != "bidirectional":
            raise ValueError(
                f"pair = {self.pair} needs representation bidirectional, but it is "
                f"{self.representation}"
            )
        if self.span_boundary and self.transform.kind != "span_masking":
            raise ValueError(
                f"span_boundary needs the transform span_masking, but it is {self.transform.kind}"
            )
        if self.distillation and (self.output.kind, self.representation) != (
            "masked_token",
            "bidirectional",
        ):
            raise ValueError("distillation needs output masked_token, read bidirectional")
        return self


def _check_combination(objective: Objective) -> None:
    output, representation = objective.output.kind, objective.representation
    transform = objective.transform.kind
    readings = [r for kind, reads, _ in POSSIBLE if kind == output for r in reads]
    if representation not in readings:
        raise ValueError(
            f"the output {output} can be learned under representation "
            f"{', '.join(dict.fromkeys(readings))}, but it is {representation}"
        )
    allowed = [
        name
        for kind, reads, names in POSSIBLE
        if kind == output and representation in reads
        for name in names
    ]
    if transform not in allowed:
        raise ValueError(
            f"the output {output} read {representation} can follow the transform "
            f"{', '.join(allowed)}, but it is {transform}"
        )


class Component(Value):
    """One part of a mixture."""

    weight: float = Field(default=1.0, gt=0)
    """Share of the updates, relative to the other components."""
    mode_token: str | None = None
    """Token of `tokenizer.extra_tokens` put before the text (Tay et al. 2023, section 3.3)."""
    objective: Objective


class Mixture(Value):
    """Several objectives for one network: each update is of one, drawn by weight from the seed."""

    kind: Literal["mixture"] = "mixture"
    mixture: tuple[Component, ...] = Field(min_length=2)

    pair: Literal["none"] = "none"
    masking: Literal["dynamic"] = "dynamic"
    duplicates: Literal[1] = 1

    @property
    def components(self) -> tuple[tuple[float, Objective], ...]:
        """(share of the updates, objective)."""
        total = sum(part.weight for part in self.mixture)
        return tuple((part.weight / total, part.objective) for part in self.mixture)

    @property
    def formula(self) -> str:
        """Those of the components, each once."""
        return "; ".join(dict.fromkeys(objective.formula for _, objective in self.components))

    @model_validator(mode="after")
    def _plain(self) -> "Mixture":
        for part in self.mixture:
            one = part.objective
            if one.pair != "none" or one.distillation or one.masking == "static":
                raise ValueError(
                    "a component of a mixture has neither pair, distillation nor static masking"
                )
            if one.output.kind == "replaced_token" or one.representation in (
                "two_way",
                "permuted",
                "window",
            ):
                raise ValueError(
                    "a mixture is of objectives for one network: outputs masked_token, next_token, "
                    "dropped_spans or whole_text, read bidirectional, causal, prefix or "
                    "encoder_decoder"
                )
        return self


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "mixture" if value.get("kind", "") == "mixture" or "mixture" in value else "single"
    return str(getattr(value, "kind", "single"))


AnyObjective = Annotated[
    Annotated[Objective, Tag("single")] | Annotated[Mixture, Tag("mixture")], Discriminator(_kind)
]


def _ul2() -> Mixture:
    """Tay et al. 2023, section 3.1: R, S and X denoisers in equal parts with mode tokens."""

    def spans(mean: float, rate: float) -> Objective:
        return Objective(
            transform=SpanCorruption(mask_rate=rate, mean_span_length=mean),
            representation="encoder_decoder",
            output=DroppedSpans(),
        )

    sequential = Objective(
        transform=Prefix(min_share=0.25, max_share=0.25),
        representation="encoder_decoder",
        output=DroppedSpans(),
    )
    third = 1 / 3
    return Mixture(
        mixture=(
            Component(weight=third / 2, mode_token="[NLU]", objective=spans(3, 0.15)),
            Component(weight=third / 2, mode_token="[NLU]", objective=spans(8, 0.15)),
            Component(weight=third, mode_token="[S2S]", objective=sequential),
            *(
                Component(weight=third / 4, mode_token="[NLG]", objective=spans(mean, rate))
                for mean, rate in ((3, 0.5), (8, 0.5), (64, 0.15), (64, 0.5))
            ),
        )
    )


def _t5(**transform: Any) -> Objective:
    return Objective(
        transform=SpanCorruption(**transform),
        representation="encoder_decoder",
        output=DroppedSpans(),
    )


def _to_text(transform: Any) -> Objective:
    return Objective(transform=transform, representation="encoder_decoder", output=WholeText())


OBJECTIVES: dict[str, Objective | Mixture] = {
    "mlm": Objective(),
    "whole_word_mlm": Objective(transform=TokenMasking(whole_word=True)),
    "ngram_mlm": Objective(transform=NgramMasking()),  # Lan et al. 2020, section 3.1
    "span_mlm": Objective(transform=SpanMasking()),  # Joshi et al. 2020, section 3.1
    "spanbert": Objective(transform=SpanMasking(), span_boundary=True),  # with section 3.2
    "mlm_nsp": Objective(pair="nsp"),  # Devlin et al. 2019, section 3.1
    "mlm_sop": Objective(pair="sop"),  # Lan et al. 2020, section 3.1
    "clm": Objective(  # Radford et al. 2018, section 3.1
        transform=Identity(), representation="causal", output=NextToken()
    ),
    "bilm": Objective(  # Peters et al. 2018, section 3.1
        transform=Identity(), representation="two_way", output=NextToken()
    ),
    "cbow": Objective(  # Mikolov et al. 2013, section 3.1
        transform=Identity(), representation="window", output=MaskedToken()
    ),
    "plm": Objective(  # Yang et al. 2019, section 2.2
        transform=PermutationOrder(), representation="permuted", output=NextToken()
    ),
    "rtd": Objective(output=ReplacedToken()),  # Clark et al. 2020, section 2
    # Raffel et al. 2020, section 3.1.4 (the baseline), and tables 3 and 4
    "span_corruption": _t5(),
    "iid_corruption": _t5(noise="iid"),
    "drop_corruption": _t5(noise="iid", replacement="drop"),
    "mass": _to_text(SpanCorruption(noise="iid", replacement="mask_token")),
    "bert_style": _to_text(
        SpanCorruption(noise="iid", replacement="mask_token", random_token_rate=0.1)
    ),
    "deshuffling": _to_text(Deshuffling()),
    "prefix_lm": Objective(
        transform=Prefix(), representation="encoder_decoder", output=DroppedSpans()
    ),
    # Lewis et al. 2020, section 2.2 and table 1
    "denoising": _to_text(Denoising(infill_rate=0.3, permute_sentences=1.0)),
    "denoising_mask": _to_text(Denoising(mask_rate=0.15)),
    "denoising_delete": _to_text(Denoising(delete_rate=0.15)),
    "denoising_infill": _to_text(Denoising(infill_rate=0.3)),
    "denoising_permute": _to_text(Denoising(permute_sentences=1.0)),
    "denoising_rotate": _to_text(Denoising(rotate_rate=1.0)),
    "ul2": _ul2(),
    "mlm_clm": Mixture(  # half of the updates each
        mixture=(
            Component(objective=Objective()),
            Component(
                objective=Objective(
                    transform=Identity(), representation="causal", output=NextToken()
                )
            ),
        )
    ),
}

__all__ = [
    "MASKING",
    "OBJECTIVES",
    "AnyObjective",
    "Component",
    "Distillation",
    "Mixture",
    "Objective",
    "Representation",
]
