"""Objective = transform x representation x output, and the valid combinations."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from harness.core.config import ConfigModel
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.outputs import (
    CorrectedToken,
    MaskedToken,
    NeighbourSentences,
    Output,
    OutputKind,
    WithGenerator,
)
from harness.pretraining.objectives.transforms import AnyTransform
from harness.pretraining.objectives.transforms.masking import MASKING, TokenMasking

Representation = Literal[
    "bidirectional", "causal", "right_to_left", "prefix",
    "bilm", "permuted", "encoder_decoder", "cbow", "skipgram",
]  # fmt: skip

TO_TEXT: tuple[Representation, ...] = ("encoder_decoder", "prefix", "causal")
COMBINATIONS: list[tuple[OutputKind, tuple[Representation, ...], tuple[str, ...]]] = [
    ("masked_token", ("bidirectional", "causal", "right_to_left", "prefix"), MASKING),
    ("masked_token", ("cbow",), ("none",)),
    ("sampled_token", ("cbow",), ("none",)),
    ("sampled_token", ("skipgram",), ("context_window",)),
    ("cooccurrence", ("skipgram",), ("none",)),
    ("replaced_token", ("bidirectional",), MASKING),
    ("corrected_token", ("bidirectional",), MASKING),
    ("next_token", ("causal",), ("none", *MASKING)),
    # An ablation: each token sees the one that it predicts (Devlin et al. 2019, section 3.1).
    ("next_token", ("bidirectional",), ("none",)),
    ("next_token", ("bilm",), ("none",)),
    ("next_token", ("permuted",), ("permutation_order",)),
    ("dropped_spans", TO_TEXT, ("span_corruption", "masked_identifiers", "prefix")),
    (
        "whole_text",
        TO_TEXT,
        ("none", *MASKING, "span_corruption", "deshuffling", "denoising"),
    ),
    ("neighbour_sentences", ("causal", "bidirectional"), ("none",)),
]
"""Valid (output, representations, transforms)."""
ONE_STACK: tuple[Representation, ...] = ("bidirectional", "causal", "right_to_left", "prefix")
"""Representations of one stack of layers above one table of token embeddings."""


class Objective(ConfigModel):
    """Transform of the text, representation, and output; by default BERT's masked LM."""

    kind: Literal["single"] = "single"
    transform: AnyTransform = TokenMasking()
    representation: Representation = "bidirectional"
    """Which positions see which. `right_to_left`: `causal` from the end; `prefix`: bidirectional
    source, causal target, which of masked tokens are the two segments of a row, or its halves;
    `bilm`: one LM per direction (ELMo); `permuted`: a random order (XLNet); `cbow`: the mean of the
    context (CBOW); `skipgram`: each token alone, which predicts its context (skip-gram, GloVe)."""
    output: Output = MaskedToken()
    masking: Literal["static", "dynamic"] = "dynamic"
    """`static`: noise is drawn once per duplicate of the data (BERT); `dynamic`: at each step."""
    dupe_factor: int = Field(default=10, ge=1)
    """Duplicates of the data, each with other static masks and random pairs."""
    sentence_pair: Literal["nsp", "sop", "none"] = "none"
    """Additional sentence-pair loss: next sentence (BERT), order (ALBERT), none."""
    span_boundary: bool = False
    """Also predict each masked token from the two tokens around its span (Joshi et al. 2020)."""
    distillation: Distillation | None = None
    """Also learn from `pretrain.teacher`."""
    embedding_noise: float | None = Field(default=None, gt=0)
    """Standard deviation of Gaussian noise on the normalised token embeddings of an input in
    training, as a share of their root mean square (the normalisation of He et al. 2021, section 5,
    whose noise is adversarial and of fine-tuning); null: none."""
    shuffled_sources: Literal[True] | None = None
    """An ablation of encoder-decoders: each sequence has the source of another one of its batch, so
    that the decoder cannot learn to attend to it; null: its own. Held-out losses are of own
    sources."""

    @property
    def components(self) -> tuple[tuple[float, "Objective"], ...]:
        """[(1.0, this objective)], as a mixture of one."""
        return ((1.0, self),)

    @property
    def predicts_text(self) -> bool:
        """Whether the target is a text that follows the source, not tokens at source positions."""
        return self.output.kind in ("dropped_spans", "whole_text")

    @property
    def has_several_losses(self) -> bool:
        """Whether the training loss is a sum, with one of pairs, of span boundaries, of another
        direction or sentence, of a generator or of a teacher."""
        several = self.sentence_pair != "none" or self.span_boundary or bool(self.distillation)
        outputs = isinstance(self.output, NeighbourSentences | WithGenerator)
        return several or outputs or self.representation == "bilm"

    @property
    def reads_identifiers(self) -> bool:
        """Whether rows need the identifiers of their text."""
        return self.transform.kind == "masked_identifiers"

    @property
    def formula(self) -> str:
        """`token_masking x bidirectional x masked_token, nsp`."""
        terms = f"{self.transform.kind} x {self.representation} x {self.output.kind}"
        extras = {
            self.sentence_pair: self.sentence_pair != "none",
            "span boundary": self.span_boundary,
            "distillation": self.distillation,
            "contrast": isinstance(self.output, CorrectedToken) and self.output.contrast,
            "embedding noise": self.embedding_noise,
            "shuffled sources": self.shuffled_sources,
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
        if isinstance(self.output, NeighbourSentences) and (others := _beside_sentences(self)):
            raise ValueError(
                f"the output {self.output.kind} reads single sentences, without {', '.join(others)}"
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
        if self.embedding_noise and (
            isinstance(self.output, WithGenerator) or self.representation not in ONE_STACK
        ):
            raise ValueError(
                f"embedding_noise needs one network, read {', '.join(ONE_STACK)}, but output is "
                f"{self.output.kind} and representation {self.representation}"
            )
        if self.shuffled_sources and self.representation != "encoder_decoder":
            raise ValueError(
                "shuffled_sources needs representation encoder_decoder, but it is "
                f"{self.representation}"
            )
        return self


def _beside_sentences(objective: Objective) -> list[str]:
    """Fields of an objective that need rows of text, or another learner."""
    fields = {
        "sentence_pair": objective.sentence_pair != "none",
        "embedding_noise": objective.embedding_noise is not None,
        "static masking": objective.masking == "static",
    }
    return [name for name, is_given in fields.items() if is_given]


def _check_combination(objective: Objective) -> None:
    output, representation = objective.output.kind, objective.representation
    rows = [row[1:] for row in COMBINATIONS if row[0] == output]
    representations = dict.fromkeys(name for names, _ in rows for name in names)
    if representation not in representations:
        raise ValueError(
            f"the output {output} can be learned under representation "
            f"{', '.join(representations)}, but it is {representation}"
        )
    allowed = [name for names, kinds in rows if representation in names for name in kinds]
    if objective.transform.kind not in allowed:
        raise ValueError(
            f"the output {output} read {representation} can follow the transform "
            f"{', '.join(allowed)}, but it is {objective.transform.kind}"
        )


SegmentType = Annotated[int, Field(ge=0)]


class Component(ConfigModel):
    """One component of a mixture."""

    weight: float = Field(default=1.0, gt=0)
    """Share of the updates, relative to the other components."""
    mode_token: str | None = None
    """Token of `tokenizer.extra_tokens` that precedes the text (Tay et al. 2023, section 3.3)."""
    segments: tuple[SegmentType, SegmentType] | None = None
    """Numbers of the segment embeddings of the first and the second text, below
    `model.segment_types`, by which the network tells the components apart (Dong et al. 2019,
    section 2.1); null: 0 and 1, those of tasks."""
    objective: Objective


class Mixture(ConfigModel):
    """Several objectives for one network; each update draws one by weight."""

    kind: Literal["mixture"] = "mixture"
    mixture: tuple[Component, ...] = Field(min_length=2)

    sentence_pair: Literal["none"] = "none"
    """Of all components; each has its own."""
    masking: Literal["dynamic"] = "dynamic"
    dupe_factor: int = Field(default=1, ge=1)
    """Duplicates of the data, each with other random pairs."""

    @property
    def components(self) -> tuple[tuple[float, Objective], ...]:
        """(share of the updates, objective)."""
        total = sum(part.weight for part in self.mixture)
        return tuple((part.weight / total, part.objective) for part in self.mixture)

    @property
    def formula(self) -> str:
        """Formulas of the distinct components."""
        return "; ".join(dict.fromkeys(objective.formula for _, objective in self.components))

    @model_validator(mode="after")
    def _plain(self) -> "Mixture":
        for part in self.mixture:
            one = part.objective
            if one.distillation or one.embedding_noise or one.masking == "static":
                raise ValueError(
                    "a component of a mixture has neither distillation, embedding_noise nor static "
                    "masking"
                )
            if part.segments and one.predicts_text:
                raise ValueError(
                    "segments of a component are for outputs at the tokens of the text, but its "
                    f"output is {one.output.kind}"
                )
            own_learner = isinstance(one.output, (WithGenerator, NeighbourSentences))
            if own_learner or one.representation in (
                "bilm",
                "permuted",
                "cbow",
                "skipgram",
            ):
                raise ValueError(
                    "a mixture is of objectives for one network: outputs masked_token, next_token, "
                    "dropped_spans or whole_text, read bidirectional, causal, right_to_left, "
                    "prefix or encoder_decoder"
                )
        return self


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "mixture" if value.get("kind", "") == "mixture" or "mixture" in value else "single"
    return str(getattr(value, "kind", "single"))


AnyObjective = Annotated[
    Annotated[Objective, Tag("single")] | Annotated[Mixture, Tag("mixture")], Discriminator(_kind)
]


def parts_of(objective: AnyObjective) -> tuple[Component, ...]:
    """The components of a mixture; of a single objective, itself."""
    if isinstance(objective, Mixture):
        return objective.mixture
    return (
        Component.model_construct(weight=1.0, mode_token=None, segments=None, objective=objective),
    )
