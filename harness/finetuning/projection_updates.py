"""Adaptation methods that change chosen projections of a frozen network, as an experiment declares
them."""

import math
from typing import Annotated, Literal

from pydantic import Field

from harness.finetuning.adaptation_base import Adaptation

Targets = Annotated[tuple[str, ...], Field(min_length=1)] | None


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


class Adalora(Adaptation):
    """Low-rank updates P diag(E) Q of frozen weights, whose ranks fall while they are trained: the
    least important singular values E of the whole network are set to zero (Zhang et al. 2023)."""

    kind: Literal["adalora"] = "adalora"
    rank: int = Field(default=8, ge=1)
    """Mean rank of a projection after training."""
    initial_rank: int | None = Field(default=None, ge=2)
    """Rank of every projection at first; null: 1.5 times `rank`, rounded up (section 3.3)."""
    alpha: float = Field(default=16.0, gt=0)
    """The update is scaled by alpha / initial rank, as by the authors (loralib/adalora.py)."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    orthogonal_weight: float = Field(default=0.1, ge=0)
    """Weight of the penalty on singular vectors that are not orthogonal (table 8: 0.1 to 0.5)."""
    beta1: float = Field(default=0.85, gt=0, lt=1)
    """Decay of the mean sensitivity of a weight (equation 9; section 4.1: 0.85)."""
    beta2: float = Field(default=0.85, gt=0, lt=1)
    """Decay of the mean uncertainty of that sensitivity (equation 10; section 4.1: 0.85)."""
    initial_fraction: float = Field(default=0.15, ge=0, lt=1)
    """Share of the updates before ranks are reduced (9 to 18 % with the steps of table 8)."""
    final_fraction: float = Field(default=0.5, ge=0, lt=1)
    """Share of the updates after the ranks are fixed (44 to 58 % with the steps of table 8)."""
    interval: int = Field(default=1, ge=1)
    """Updates between two reductions of the ranks (table 8: 1 to 100)."""
    targets: Targets = None
    """As of `lora`; in the paper all projections (section 3.2)."""

    @property
    def first_rank(self) -> int:
        """The initial rank of a projection."""
        return self.initial_rank or math.ceil(1.5 * self.rank)

    @property
    def problem(self) -> str:
        """Ranks that do not fall, and shares that leave no update to reduce them."""
        if self.first_rank <= self.rank:
            return (
                f"initial_rank must be above the rank {self.rank} to which it is reduced, but is "
                f"{self.first_rank}"
            )
        if self.initial_fraction + self.final_fraction >= 1:
            return (
                "initial_fraction + final_fraction must be below 1, so that ranks are reduced "
                f"between them, but are {self.initial_fraction:g} + {self.final_fraction:g}"
            )
        return ""


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


class Rotation(Adaptation):
    """The fields of trained rotations of the inputs of frozen projections."""

    block_size: int = Field(default=32, ge=2)
    """Features that are rotated together; it divides the width of the input."""
    targets: Targets = None
    """As of `lora`."""

    def misfit(self, width: int) -> str:
        """Why inputs of `width` features cannot be rotated, as a predicate; empty if they can."""
        if width % self.block_size:
            return f"is no multiple of the block_size {self.block_size}"
        return ""


class Oft(Rotation):
    """Trained rotations of the inputs of frozen projections, in blocks (Qiu et al. 2023)."""

    kind: Literal["oft"] = "oft"


class Boft(Rotation):
    """Rotations that are products of sparse ones, which rotate other blocks of features each: a
    butterfly (Liu et al. 2024, "Parameter-efficient orthogonal finetuning via butterfly
    factorization", section 4)."""

    kind: Literal["boft"] = "boft"
    block_size: int = Field(default=8, ge=2)
    """Features that a factor rotates together; b of BOFT(m, b) (table 1: 8)."""
    butterfly_factors: int = Field(default=2, ge=1, le=32)
    """Factors of a rotation; m of BOFT(m, b) (table 1: 2). With 1, the blocks are those of `oft`.
    Each further one doubles the features that are mixed: block_size x 2^(butterfly_factors - 1),
    which divides the width of the input."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the blocks of one factor, drawn for each batch, that are not rotated in training
    (section 4, multiplicative dropout); rounded down to whole blocks."""

    @property
    def problem(self) -> str:
        """Blocks that cannot be halved, as further factors need."""
        if self.butterfly_factors > 1 and self.block_size % 2:
            return (
                "block_size must be even with more than one of the butterfly_factors, which mix "
                f"halves of blocks, but is {self.block_size}"
            )
        return ""

    def misfit(self, width: int) -> str:
        """As of `oft`, and a dropout of less than a block."""
        mixed = self.block_size * 2 ** (self.butterfly_factors - 1)
        if width % mixed:
            return (
                f"is no multiple of {mixed}, the features that {self.butterfly_factors} butterfly "
                f"factors with a block_size of {self.block_size} mix"
            )
        blocks = width // self.block_size
        if self.dropout and int(self.dropout * blocks) < 1:
            return f"has {blocks} blocks, of which a dropout of {self.dropout:g} omits none"
        return ""


Targeted = Lora | Dora | Adalora | Vera | Oft | Boft
"""Adaptations whose `targets` may be chosen."""
