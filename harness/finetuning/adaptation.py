"""Adaptation methods, as an experiment declares them."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, TypeAdapter

from harness.core.config import as_tuples, unknown_name
from harness.finetuning.adaptation_base import Adaptation as Adaptation  # for other modules, too
from harness.finetuning.projection_updates import Adalora, Boft, Dora, Lora, Oft, Vera


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

    @property
    def trains_matrices(self) -> bool:
        """Not of norms or biases alone."""
        return self.parts == "all"

    @property
    def trains_embeddings(self) -> bool:
        """Not of top layers, norms or biases alone."""
        return self.parts == "all" and self.top_layers is None


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
    "adalora": Adalora(),
    "vera": Vera(),
    "oft": Oft(),
    "boft": Boft(),
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
    | Adalora
    | Vera
    | Oft
    | Boft
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
