"""The data of a model card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.data.corpora.sources import MicroworldCorpus
from harness.exchange.checkpoints.history import Step
from harness.execution.provenance import provenance
from harness.pretraining.recipes.pretrain import Pretrain

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class CardScores:
    """Scores of the network in an experiment."""

    experiment: str
    question: str
    suite: str
    rows: Rows
    """Task, split, metric, score, number of fine-tuning seeds."""
    protocol: str
    citation: str


@dataclass(frozen=True)
class Card:
    """The content of a model card."""

    name: str
    run: Pretrain
    """Its pretraining, or the import of a checkpoint."""
    recipe: str | None
    """Null if the store does not name it."""
    seed: int
    """Pretraining seed."""
    key: str
    """Of the stage that left the network."""
    metrics: Mapping[str, float]
    """Of the pretraining stage."""
    steps: Sequence[Step] = ()
    """Runs of continued pretraining, in order."""
    parameters: int | None = None
    """Number in the exported files; null before they are written."""
    notes: Sequence[str] = ()
    """What users of the files must know, a sentence each."""
    scores: CardScores | None = None
    made_with: str = ""
    """Packages and machine of its last stage; empty if they were not recorded."""
    provenance: Mapping[str, str] = field(default_factory=provenance)
    """Software and machine that write the card."""

    @property
    def generated(self) -> bool:
        """Whether the network was trained on micro-world text alone."""
        texts = [self.run.corpus, *(step.text for step in self.steps)]
        micro = all(isinstance(text, MicroworldCorpus) for text in texts)
        return micro and not self.run.model.checkpoint
