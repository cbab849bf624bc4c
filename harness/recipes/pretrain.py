"""A pretraining run, fully declared: what a recipe is a value of, what an arm resolves to."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from harness.budget import Budget
from harness.corpora import Corpus, MicroworldCorpus
from harness.corpora.packing import PAIR_FORMATS, Packing
from harness.models import Architecture, Size
from harness.objectives import AnyObjective, Objective
from harness.objectives.transforms import SpanCorruption
from harness.objectives.transforms.spans import spans_needed
from harness.optimizer import Optimizer, Schedule
from harness.tokenizers import Tokenizer
from harness.values import Value

UNBOUNDED = ("t5",)
"""Families without a table of positions."""


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
        total = sum(phase.fraction for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the fractions of phases must sum to 1, but they sum to {total:g}")
        longest = max(phase.sequence_length for phase in self.phases)
        if longest > self.model.max_position:
            raise ValueError(
                f"sequence_length must be at most model.max_position = {self.model.max_position}, "
                f"but is {longest}"
            )
        if self.objective.pair != "none" and self.packing.format not in PAIR_FORMATS:
            raise ValueError(
                f"objective.pair = {self.objective.pair} needs packing.format segment_pair or "
                f"sentence_pair, but it is {self.packing.format}"
            )
        for objective in self.objectives:
            self._check_reading(objective)
            self._check_room(objective, longest)
        self._check_modes()
        self._check_other_runs()
        return self

    def _check_reading(self, objective: Objective) -> None:
        facts = self.model.facts
        if objective.representation not in facts.representations:
            raise ValueError(
                f"a {self.model.family} can be read {', '.join(facts.representations)}, but "
                f"objective.representation is {objective.representation}"
            )
        if facts.kind == "baseline" and not self.budget.nothing:
            raise ValueError(
                f"a {self.model.family} learns nothing before its task: set budget.tokens to 0"
            )

    def _check_room(self, objective: Objective, longest: int) -> None:
        """Positions for source and target in one row; sentinels for all spans and the end."""
        transform = objective.transform
        one_row = objective.representation in ("causal", "prefix")
        if one_row and objective.output.kind in ("dropped_spans", "whole_text"):
            needed = 2 * longest
            if self.model.family not in UNBOUNDED and needed > self.model.max_position:
                raise ValueError(
                    f"source and target stand in one row: model.max_position must be at least "
                    f"{needed}, twice the sequence_length, but is {self.model.max_position}"
                )
        if isinstance(transform, SpanCorruption) and transform.replacement == "sentinel":
            needed = spans_needed(transform, longest) + 1
            if self.tokenizer.sentinels < needed:
                raise ValueError(
                    f"span_corruption of {longest} tokens needs tokenizer.sentinels of at least "
                    f"{needed}, but it is {self.tokenizer.sentinels}"
                )

    def _check_modes(self) -> None:
        for part in getattr(self.objective, "mixture", ()):
            if part.mode_token not in (None, *self.tokenizer.extra_tokens):
                raise ValueError(
                    f"mode_token must be one of tokenizer.extra_tokens, "
                    f"{list(self.tokenizer.extra_tokens)}, but is {part.mode_token!r}"
                )

    def _check_other_runs(self) -> None:
        distilled = any(objective.distillation for objective in self.objectives)
        if distilled != (self.teacher is not None):
            raise ValueError("objective.distillation and teacher need each other: give both")
        for name, other in (("teacher", self.teacher), ("start_from", self.start_from)):
            if other and (other.tokenizer, other.corpus) != (self.tokenizer, self.corpus):
                raise ValueError(f"{name} must have the corpus and the tokenizer of the run itself")
        if self.start_from and (self.start_from.model, self.start_from.size) != (
            self.model,
            self.size,
        ):
            raise ValueError("start_from must have the model and the size of the run itself")
