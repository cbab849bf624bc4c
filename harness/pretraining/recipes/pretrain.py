"""A pretraining run, fully declared: what a recipe is a value of, what an arm resolves to."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from harness.core.config import Value
from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import Corpus, MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import Architecture, Size
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import AnyObjective, Objective
from harness.pretraining.optimizer import Optimizer, Schedule
from harness.pretraining.recipes.compatibility import misfits


class Phase(Value):
    """A stretch of the updates at one sequence length."""

    fraction: float = Field(gt=0, le=1)
    """Share of the updates."""
    sequence_length: int = Field(ge=8)
    """Tokens of a full input sequence, special tokens included."""


class Pretrain(Value):
    """Tokenizer + input packing + objective + architecture + optimiser + schedule + budget."""

    recipe: str = "bert"
    """Name in `harness list recipes`; it gives every field that is not set here."""
    corpus: Corpus = MicroworldCorpus()
    tokenizer: Tokenizer = Tokenizer()
    packing: Packing = Packing()
    objective: AnyObjective = Objective()
    model: Architecture = Architecture()
    size: Size
    """A name in `harness list sizes`, or the four numbers."""
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    phases: tuple[Phase, ...] = Field(
        default=(Phase(fraction=1.0, sequence_length=128),), min_length=1
    )
    """Length phases, in order; the fractions sum to 1."""
    batch_size: int = Field(default=256, ge=1)
    """Full sequences per update: a batch holds batch_size x sequence_length tokens, padding not
    counted, in as many sequences as that takes, so that formats with short sequences see as many
    tokens per update (Liu et al. 2019, section 4.2)."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """Lightning's name of the number format."""
    budget: Budget
    checkpoints: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    """Shares of the updates after which the weights are kept, to be fine-tuned, too."""
    start_from: "Pretrain | None" = None
    """A run to go on from instead of initial weights: its fields where they differ from these."""
    teacher: "Pretrain | None" = None
    """A run to learn from (`objective.distillation`): its fields where they differ from these."""

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objective, or those of a mixture."""
        return tuple(objective for _, objective in self.objective.components)

    @property
    def representation(self) -> str:
        """How the network is read after pretraining: as the last objective reads it."""
        return self.objectives[-1].representation

    @model_validator(mode="after")
    def _fits_together(self) -> "Pretrain":
        for sentence in misfits(self):
            raise ValueError(sentence)
        return self
