"""The ways to adapt a pretrained model, declared."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, TypeAdapter

from harness.core.config import ConfigModel, as_tuples, unknown_name


class Adaptation(ConfigModel):
    """What of a pretrained model is trained on a task, and what is put into it."""

    kind: str
    trains: ClassVar[bool] = True
    """Whether anything is trained."""
    whole: ClassVar[bool] = False
    """Whether weights of the pretrained network itself change."""

    @property
    def content(self) -> Any:
        """What stage keys hold: all that is set, and the kind alone where nothing can differ from
        what the kind has always meant."""
        fields = self.model_dump(exclude_none=True)
        return fields if set(fields) > {"kind"} else self.kind

    @property
    def label(self) -> str:
        """The kind, and each field that is not at its default: `lora rank=4`."""
        fields = self.model_dump(exclude={"kind"}, exclude_defaults=True)
        return " ".join([self.kind, *(f"{name}={value}" for name, value in fields.items())])


class Full(Adaptation):
    """Every parameter is trained, with a new linear head."""

    kind: Literal["full"] = "full"
    whole: ClassVar[bool] = True


class Frozen(Adaptation):
    """A linear head on standardised features of layers that stay as they are."""

    kind: Literal["frozen"] = "frozen"
    layer: int | None = None
    """The layer whose states are read: 0 the embeddings, -1 the last; null a learned mix of all
    (Peters et al. 2018, equation 1)."""


class Selective(Adaptation):
    """A part of the network is trained, with a new linear head."""

    kind: Literal["selective"] = "selective"
    parts: Literal["all", "layer_norms", "biases"] = "all"
    """Kinds of parameters: `biases` is BitFit (Ben Zaken et al. 2022)."""
    top_layers: int | None = Field(default=None, ge=1)
    """Of this many layers next to the head, alone; null of all, and of the embeddings."""
    whole: ClassVar[bool] = True


class Gradual(Adaptation):
    """The head first, then a layer more each epoch from the top, the embeddings last (Howard and
    Ruder 2018, section 3.3)."""

    kind: Literal["gradual"] = "gradual"
    whole: ClassVar[bool] = True


class Lora(Adaptation):
    """Low-rank updates beside frozen weights (Hu et al. 2022)."""

    kind: Literal["lora"] = "lora"
    rank: int = Field(default=8, ge=1)
    alpha: float = Field(default=16.0, gt=0)
    """The update is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the projections, as the network has them; null: query and value (section 4.2)."""


class Adapters(Adaptation):
    """A bottleneck after each sublayer, and layer norms, beside frozen weights (Houlsby et al.
    2019)."""

    kind: Literal["adapters"] = "adapters"
    bottleneck: int = Field(default=64, ge=1)
    """Width; 8, 64 and 256 in the paper."""


class Prefix(Adaptation):
    """Trained keys and values before those of every layer (Li and Liang 2021)."""

    kind: Literal["prefix"] = "prefix"
    length: int = Field(default=10, ge=1)
    """Virtual tokens."""
    projection: int | None = Field(default=None, ge=1)
    """Width of the network that makes them while they are trained; null trains them directly."""


class PromptTuning(Adaptation):
    """Trained vectors before the embedded input (Lester et al. 2021)."""

    kind: Literal["prompt_tuning"] = "prompt_tuning"
    length: int = Field(default=20, ge=1)
    """Virtual tokens; up to 100 in the paper."""


class Ia3(Adaptation):
    """Trained factors on keys, values and inner activations (Liu et al. 2022)."""

    kind: Literal["ia3"] = "ia3"


class Prompt(Adaptation):
    """Nothing is trained: the answer whose words are likeliest in the task's prompt."""

    kind: Literal["prompt"] = "prompt"
    trains: ClassVar[bool] = False


ADAPTATIONS: dict[str, Adaptation] = {
    "full": Full(),
    "frozen": Frozen(),
    "frozen_top": Frozen(layer=-1),
    "top_layers": Selective(top_layers=1),
    "layer_norms": Selective(parts="layer_norms"),
    "biases": Selective(parts="biases"),
    "gradual": Gradual(),
    "lora": Lora(),
    "adapters": Adapters(),
    "prefix": Prefix(),
    "prompt_tuning": PromptTuning(),
    "ia3": Ia3(),
    "prompt": Prompt(),
}


def _named(value: Any) -> Any:
    if not isinstance(value, str):
        return as_tuples(value)
    if value not in ADAPTATIONS:
        raise ValueError(unknown_name("the adaptation", value, ADAPTATIONS))
    return ADAPTATIONS[value]


AnyAdaptation = Annotated[
    Full | Frozen | Selective | Gradual | Lora | Adapters | Prefix | PromptTuning | Ia3 | Prompt,
    Discriminator("kind"),
    BeforeValidator(_named),
]
"""An adaptation by value, or by its name in ADAPTATIONS."""


def read_adaptation(content: Any) -> Adaptation:
    """The adaptation of `Adaptation.content`."""
    found: Adaptation = TypeAdapter(AnyAdaptation).validate_python(content)
    return found
