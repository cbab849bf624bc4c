"""The settings of a pretraining run, each valid by itself."""

from typing import Annotated

from pydantic import Field

from harness.core.config import ConfigModel
from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import Corpus, MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import Architecture, Size
from harness.pretraining.budget import MAX_BATCH_SIZE, Budget, Phase
from harness.pretraining.objectives.objective import AnyObjective, Objective
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.schedule import Schedule


class PretrainSettings(ConfigModel):
    """Tokenizer + input packing + objective + architecture + optimiser + schedule + budget."""

    recipe: str = "bert"
    """Name in `harness list recipes`; it gives every field that is not set here."""
    corpus: Corpus = MicroworldCorpus()
    held_out: Corpus | None = None
    """Text of the held-out loss, all of it; the corpus is then all for training. Null: a share of
    the documents of the corpus, so that arms with different text have different held-out texts."""
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
    batch_size: int = Field(default=256, ge=1, le=MAX_BATCH_SIZE)
    """Full sequences per update: a batch holds batch_size x sequence_length tokens, padding not
    counted, in as many sequences as that takes, so that formats with short sequences see as many
    tokens per update (Liu et al. 2019, section 4.2)."""
    budget: Budget
    checkpoint_fractions: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    """Shares of the updates after which the weights are kept, to be fine-tuned as well."""
    module: str | None = None
    """The LightningModule of a plug-in; null: the harness's own."""
    init_from: "PretrainSettings | None" = None
    """A run whose weights this one starts from: its fields where they differ from these. Of static
    vectors, another network takes its initial token embeddings alone."""
    teacher: "PretrainSettings | None" = None
    """A run to learn from (`objective.distillation`): its fields where they differ from these."""

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objective, or those of a mixture."""
        return tuple(objective for _, objective in self.objective.components)

    @property
    def representation(self) -> str:
        """Representation after pretraining: that of the last objective."""
        return self.objectives[-1].representation

    @property
    def starts_from_vectors(self) -> bool:
        """Whether `init_from` gives token embeddings alone: static vectors for another network."""
        kinds = [run.model.family == "static" for run in (self, self.init_from) if run]
        return kinds == [False, True]
