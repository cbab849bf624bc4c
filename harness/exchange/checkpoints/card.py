"""The content of a model card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.data.corpora.sources import MicroworldCorpus
from harness.exchange.checkpoints.history import Step
from harness.execution.provenance import provenance
from harness.pretraining.recipes.pretrain import Pretrain

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class CardScores:
    """What an experiment says of the network."""

    experiment: str
    question: str
    suite: str
    rows: Rows
    """Task, split, metric, score, number of fine-tuning seeds."""
    protocol: str
    citation: str


@dataclass(frozen=True)
class Card:
    """What a card is made of."""

    name: str
    run: Pretrain
    """The pretraining, or the import of a checkpoint."""
    recipe: str | None
    """Null where the store does not say which one it was."""
    seed: int
    key: str
    metrics: Mapping[str, float]
    """Of the pretraining stage."""
    steps: Sequence[Step] = ()
    """The runs that went on from it."""
    parameters: int | None = None
    """Of the files that were written; null where they are not yet."""
    notes: Sequence[str] = ()
    scores: CardScores | None = None
    made_with: str = ""
    """Packages and machine of the last of its stages; empty where they are not known."""
    provenance: Mapping[str, str] = field(default_factory=provenance)
    """Of what writes the card."""

    @property
    def generated(self) -> bool:
        """Whether the network has read nothing but the embedded world."""
        texts = [self.run.corpus, *(step.text for step in self.steps)]
        here = all(isinstance(text, MicroworldCorpus) for text in texts)
        return here and not self.run.model.checkpoint
