"""Objective = transform x representation x output: the value, and what goes with what."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from harness.core.config import ConfigModel
from harness.pretraining.objectives.outputs import MaskedToken, Output
from harness.pretraining.objectives.transforms import AnyTransform
from harness.pretraining.objectives.transforms.masking import MASKING, TokenMasking

Representation = Literal[
    "bidirectional", "causal", "prefix", "bilm", "permuted", "encoder_decoder", "cbow"
]

TO_TEXT = ("encoder_decoder", "prefix", "causal")
COMBINATIONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("masked_token", ("bidirectional", "causal"), MASKING),
    ("masked_token", ("cbow",), ("none",)),
    ("replaced_token", ("bidirectional",), MASKING),
    ("next_token", ("causal",), ("none", *MASKING)),
    ("next_token", ("bilm",), ("none",)),
    ("next_token", ("permuted",), ("permutation_order",)),
    ("dropped_spans", TO_TEXT, ("span_corruption", "prefix")),
    (
        "whole_text",
        TO_TEXT,
        ("none", *MASKING, "span_corruption", "deshuffling", "denoising"),
    ),
)
"""(output, representations, transforms) that make an objective together."""


class Distillation(ConfigModel):
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
    init_from_teacher: bool = False
    """Initial weights are the teacher's embeddings and every other layer (Sanh et al. 2019)."""


class Objective(ConfigModel):
    """What is hidden, how the text is read, and what is to be told; by default BERT's masked LM."""

    kind: Literal["single"] = "single"
    transform: AnyTransform = TokenMasking()
    representation: Representation = "bidirectional"
    """Who sees whom. `prefix`: the source both ways, the target left to right; `bilm`: one
    reader for each direction (ELMo); `permuted`: a random order (XLNet); `cbow`: the mean of the
    neighbours (CBOW)."""
    output: Output = MaskedToken()
    masking: Literal["static", "dynamic"] = "dynamic"
    """`static`: noise drawn once per duplicate of the data (BERT); `dynamic`: anew at each step."""
    dupe_factor: int = Field(default=10, ge=1)
    """Different drawings of the data: of noise where masking is static, and of random pairs."""
    sentence_pair: Literal["nsp", "sop", "none"] = "none"
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
    def predicts_text(self) -> bool:
        """Whether the target is a text that follows the source, not tokens at source positions."""
        return self.output.kind in ("dropped_spans", "whole_text")

    @property
    def formula(self) -> str:
        """`token_masking x bidirectional x masked_token, nsp`."""
        terms = f"{self.transform.kind} x {self.representation} x {self.output.kind}"
        extras = {
            self.sentence_pair: self.sentence_pair != "none",
            "span boundary": self.span_boundary,
            "distillation": self.distillation,
        }
        return ", ".join((terms, *(name for name, given in extras.items() if given)))

    @model_validator(mode="after")
    def _possible(self) -> "Objective":
        _check_combination(self)
        if self.sentence_pair != "none" and self.representation != "bidirectional":
            raise ValueError(
                f"sentence_pair = {self.sentence_pair} needs representation bidirectional, but it "
                f"is {self.representation}"
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
    readings = [r for kind, reads, _ in COMBINATIONS if kind == output for r in reads]
    if representation not in readings:
        raise ValueError(
            f"the output {output} can be learned under representation "
            f"{', '.join(dict.fromkeys(readings))}, but it is {representation}"
        )
    allowed = [
        name
        for kind, reads, names in COMBINATIONS
        if kind == output and representation in reads
        for name in names
    ]
    if transform not in allowed:
        raise ValueError(
            f"the output {output} read {representation} can follow the transform "
            f"{', '.join(allowed)}, but it is {transform}"
        )


class Component(ConfigModel):
    """One part of a mixture."""

    weight: float = Field(default=1.0, gt=0)
    """Share of the updates, relative to the other components."""
    mode_token: str | None = None
    """Token of `tokenizer.extra_tokens` put before the text (Tay et al. 2023, section 3.3)."""
    objective: Objective


class Mixture(ConfigModel):
    """Several objectives for one network: each update is of one, drawn by weight from the seed."""

    kind: Literal["mixture"] = "mixture"
    mixture: tuple[Component, ...] = Field(min_length=2)

    sentence_pair: Literal["none"] = "none"
    masking: Literal["dynamic"] = "dynamic"
    dupe_factor: Literal[1] = 1

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
            if one.sentence_pair != "none" or one.distillation or one.masking == "static":
                raise ValueError(
                    "a component of a mixture has neither sentence_pair, distillation nor static "
                    "masking"
                )
            if one.output.kind == "replaced_token" or one.representation in (
                "bilm",
                "permuted",
                "cbow",
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
