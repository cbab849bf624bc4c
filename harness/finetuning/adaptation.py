"""Adaptation methods, as an experiment declares them."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, TypeAdapter

from harness.core.config import ConfigModel, as_tuples, unknown_name

Targets = Annotated[tuple[str, ...], Field(min_length=1)] | None


class Adaptation(ConfigModel):
    """Which parameters are trained on a task, and which are added."""

    kind: str
    trains: ClassVar[bool] = True
    """Whether anything is trained."""
    whole: ClassVar[bool] = False
    """Whether weights of the pretrained network are trained."""

    @property
    def content(self) -> Any:
        """The part of stage keys: all set fields, or the kind alone if it has no set fields."""
        fields = self.model_dump(exclude_none=True)
        return fields if set(fields) > {"kind"} else self.kind

    @property
    def label(self) -> str:
        """The kind with its non-default fields: `lora rank=4`."""
        fields = self.model_dump(exclude={"kind"}, exclude_defaults=True)
        return " ".join([self.kind, *(f"{name}={value}" for name, value in fields.items())])


class Full(Adaptation):
    """All parameters are trained, with a new output layer."""

    kind: Literal["full"] = "full"
    whole: ClassVar[bool] = True


class Frozen(Adaptation):
    """Linear probe on standardised features of a frozen network."""

    kind: Literal["frozen"] = "frozen"
    layer: int | None = None
    """Layer of the features: 0 for the embeddings, -1 for the last; null: a learned mix of all
    layers (Peters et al. 2018, equation 1)."""


class Selective(Adaptation):
    """Part of the network is trained, with a new output layer."""

    kind: Literal["selective"] = "selective"
    parts: Literal["all", "layer_norms", "biases"] = "all"
    """Kinds of parameters: `biases` is BitFit (Ben Zaken et al. 2022)."""
    top_layers: int | None = Field(default=None, ge=1)
    """Only parameters of this many top layers; null: of all layers and the embeddings."""
    whole: ClassVar[bool] = True


class Gradual(Adaptation):
    """Gradual unfreezing: the output layer first, then one more layer per epoch from the top, the
    embeddings last (Howard and Ruder 2018, section 3.3)."""

    kind: Literal["gradual"] = "gradual"
    whole: ClassVar[bool] = True


class Staged(Adaptation):
    """The output layer and the top layers from the first epoch, the layer norms from the second,
    everything else from the third."""

    kind: Literal["staged"] = "staged"
    top_layers: int = Field(default=1, ge=1)
    """Number of layers next to the output layer that are trained from the first epoch."""
    whole: ClassVar[bool] = True

    @property
    def parts(self) -> Selective:
        """What it trains before everything else, which the network must have."""
        return Selective(parts="layer_norms", top_layers=self.top_layers)


class LowRank(Adaptation):
    """The fields of low-rank updates of frozen weights."""

    rank: int = Field(default=8, ge=1)
    alpha: float = Field(default=16.0, gt=0)
    """The update is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: Targets = None
    """Module names of the projections; null: query and value (Hu et al. 2022, section 4.2)."""
    scaling: Literal["sqrt"] | None = None
    """`sqrt`: the update is scaled by alpha / sqrt(rank), the rank-stabilised scale of rsLoRA
    (Kalajdzievski 2023, section 3); null: by alpha / rank."""


class Lora(LowRank):
    """Low-rank updates of frozen weights (Hu et al. 2022)."""

    kind: Literal["lora"] = "lora"


class Dora(LowRank):
    """Magnitudes of frozen weights, and low-rank updates of their directions (Liu et al. 2024,
    section 4)."""

    kind: Literal["dora"] = "dora"


class Vera(Adaptation):
    """Trained scales of random matrices that all projections share (Kopiczko et al. 2024)."""

    kind: Literal["vera"] = "vera"
    rank: int = Field(default=256, ge=1)
    """Of the random matrices; 256 and 1,024 for RoBERTa in the paper."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    initial_scale: float = Field(default=0.1, gt=0)
    """All entries of d before training (section 3.2)."""
    projection_seed: int = Field(default=0, ge=0)
    """Seed of the random matrices, which are not saved; the same for all fine-tuning seeds."""
    targets: Targets = None
    """As of `lora`."""


class Oft(Adaptation):
    """Trained rotations of the inputs of frozen projections, in blocks (Qiu et al. 2023)."""

    kind: Literal["oft"] = "oft"
    block_size: int = Field(default=32, ge=2)
    """Features that are rotated together; it divides the width of the input."""
    targets: Targets = None
    """As of `lora`."""


class Adapters(Adaptation):
    """A trained bottleneck after each sublayer, and trained layer norms (Houlsby et al. 2019)."""

    kind: Literal["adapters"] = "adapters"
    bottleneck: int = Field(default=64, ge=1)
    """Width; 8, 64 and 256 in the paper."""


class Prefix(Adaptation):
    """Prefix-tuning: trained keys and values prepended in every layer (Li and Liang 2021)."""

    kind: Literal["prefix"] = "prefix"
    length: int = Field(default=10, ge=1)
    """Virtual tokens."""
    projection: int | None = Field(default=None, ge=1)
    """Hidden size of the reparameterisation network; null: trained directly."""


class PromptTuning(Adaptation):
    """Trained vectors prepended to the embedded input (Lester et al. 2021)."""

    kind: Literal["prompt_tuning"] = "prompt_tuning"
    length: int = Field(default=20, ge=1)
    """Virtual tokens; up to 100 in the paper."""


class Ia3(Adaptation):
    """(IA)3: trained factors on keys, values and inner activations (Liu et al. 2022)."""

    kind: Literal["ia3"] = "ia3"


class Prompt(Adaptation):
    """No training: the answer with the highest likelihood in the task's prompt."""

    kind: Literal["prompt"] = "prompt"
    trains: ClassVar[bool] = False


Targeted = Lora | Dora | Vera | Oft
"""Adaptations whose `targets` may be chosen."""
ADAPTATIONS: dict[str, Adaptation] = {
    "full": Full(),
    "frozen": Frozen(),
    "frozen_top": Frozen(layer=-1),
    "top_layers": Selective(top_layers=1),
    "layer_norms": Selective(parts="layer_norms"),
    "biases": Selective(parts="biases"),
    "gradual": Gradual(),
    "staged": Staged(),
    "lora": Lora(),
    "rslora": Lora(scaling="sqrt"),
    "dora": Dora(),
    "vera": Vera(),
    "oft": Oft(),
    "adapters": Adapters(),
    "prefix": Prefix(),
    "prompt_tuning": PromptTuning(),
    "ia3": Ia3(),
    "prompt": Prompt(),
}
"""Name to adaptation."""


def _named(value: Any) -> Any:
    if not isinstance(value, str):
        return as_tuples(value)
    if value not in ADAPTATIONS:
        raise ValueError(unknown_name("the adaptation", value, ADAPTATIONS))
    return ADAPTATIONS[value]


AnyAdaptation = Annotated[
    Full
    | Frozen
    | Selective
    | Gradual
    | Staged
    | Lora
    | Dora
    | Vera
    | Oft
    | Adapters
    | Prefix
    | PromptTuning
    | Ia3
    | Prompt,
    Discriminator("kind"),
    BeforeValidator(_named),
]
"""An adaptation by value or by its name in ADAPTATIONS."""


def read_adaptation(content: Any) -> Adaptation:
    """The adaptation with a given `Adaptation.content`.

    Raises:
        ValueError: it is no adaptation.
    """
    found: Adaptation = TypeAdapter(AnyAdaptation).validate_python(content)
    return found
