"""AXIS: architectures and sizes. Values only; `harness.models.build` makes the networks."""

from typing import Literal

from pydantic import Field, model_validator

from harness.values import Value


class Size(Value):
    """The shape of a Transformer."""

    num_layers: int = Field(ge=1)
    hidden_size: int = Field(ge=8)
    num_heads: int = Field(ge=1)
    intermediate_size: int = Field(ge=8)

    @model_validator(mode="after")
    def _heads(self) -> "Size":
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"hidden_size must be a multiple of num_heads, but {self.hidden_size} is not one "
                f"of {self.num_heads}"
            )
        return self


def _bert(num_layers: int, hidden_size: int) -> Size:
    """Heads of 64 and a feed-forward layer of 4 x hidden, as Devlin et al. 2019, section 3."""
    return Size(
        num_layers=num_layers,
        hidden_size=hidden_size,
        num_heads=hidden_size // 64,
        intermediate_size=4 * hidden_size,
    )


SIZES: dict[str, Size] = {
    "nano": Size(num_layers=2, hidden_size=64, num_heads=2, intermediate_size=256),  # ours
    "tiny": _bert(2, 128),  # Turc et al. 2019, section 3.1, as the three below
    "mini": _bert(4, 256),
    "small": _bert(4, 512),
    "medium": _bert(8, 512),
    "base": _bert(12, 768),  # Devlin et al. 2019, section 3
    "large": _bert(24, 1024),
}


class Architecture(Value):
    """A model family and its numbers apart from the size."""

    family: Literal["bert", "roberta"] = "bert"
    max_position: int = Field(default=512, ge=8)
    """Longest sequence in tokens (RoBERTa's padding offset not counted)."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    initializer_range: float = Field(default=0.02, gt=0)
    """Standard deviation of the initial weights. 0.02 belongs to hidden size 768; narrow models
    learn faster from 0.02 x sqrt(768 / hidden_size)."""


MODELS: dict[str, Architecture] = {
    "bert": Architecture(family="bert"),
    "roberta": Architecture(family="roberta"),
}
