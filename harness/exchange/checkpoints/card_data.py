"""The data of a model card, and the training history of its network in the store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from harness.data.corpora.sources import Corpus, MicroworldCorpus, TaskCorpus, sources_of
from harness.execution.provenance import provenance
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.finetuning.search.pretrain_search import BEST, with_settings
from harness.plan.learned_vocabularies import VOCAB_SIZE
from harness.plan.plan import CHOSEN
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import StageResult, Store
from harness.tasks.task import Task

Rows = Sequence[Sequence[str]]
KINDS = ("pretrain", "continue_pretraining")
"""Kinds of stages that leave a pretrained network."""
Text = Corpus | TaskCorpus
TEXT: TypeAdapter[Text] = TypeAdapter(Text)


@dataclass(frozen=True)
class Step:
    """A run of continued pretraining (domain- or task-adaptive)."""

    run: Pretrain
    text: Text | None
    """Null if it is no longer in the store."""
    task: str | None
    """The task whose texts these are; null for a corpus."""
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TaskStep:
    """Training on tasks as a bi-encoder."""

    line: str
    """Tasks, objective, epochs and seed."""
    generated: bool
    """Whether the tasks are of the micro-world."""


@dataclass(frozen=True)
class MainScore:
    """The main metric of a task."""

    task: Task
    value: float
    """Mean over fine-tuning seeds x 100."""
    num_runs: int


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
    main: Sequence[MainScore] = ()
    """Of the tasks with defined scores."""
    search: str = "none"
    """The hyperparameter search as text."""
    selected: Rows = ()
    """Task, and the hyperparameters that the search selected for it."""
    after_tasks: bool = False
    """Whether they are of the network after training on several or other tasks, which the files are
    before."""


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
    vocab_size: int | None = None
    """Entries that the tokenizer has learned; null: not known, as of a checkpoint."""
    steps: Sequence[Step] = ()
    """Runs of continued pretraining, in order."""
    task_steps: Sequence[TaskStep] = ()
    """Runs of training as a bi-encoder, after those, in order."""
    parameters: int | None = None
    """Number in the exported files; null before they are written."""
    weights: str = ""
    """Digest of the weights in the exported files; empty before they are written."""
    notes: Sequence[str] = ()
    """What users of the files must know, a sentence each."""
    embeds_texts: bool = False
    """Whether the files are those of a sentence-transformers model."""
    scores: CardScores | None = None
    made_with: str = ""
    """Packages and machine of its last stage; empty if they were not recorded."""
    provenance: Mapping[str, str] = field(default_factory=provenance)
    """Software and machine that write the card."""

    @property
    def is_trained(self) -> bool:
        """Whether the network was trained here, on text or tasks."""
        return bool(self.metrics.get("steps") or self.steps or self.task_steps)

    @property
    def is_random(self) -> bool:
        """Whether all of its weights are those with which it was initialised."""
        model, start = self.run.model, self.run.init_from
        return not (self.is_trained or model.checkpoint or model.vectors or start)

    @property
    def generated(self) -> bool:
        """Whether the network was trained on micro-world text alone."""
        texts = [self.run.corpus, *(step.text for step in self.steps)]
        sources = [one for text in texts for one in (sources_of(text) if text else [None])]
        micro = all(isinstance(source, MicroworldCorpus) for source in sources)
        of_tasks = all(step.generated for step in self.task_steps)
        return micro and of_tasks and not _has_weights_of_others(self.run)


def _has_weights_of_others(run: Pretrain) -> bool:
    """Whether a run, or one that it builds on, began with published weights or word vectors."""
    before = (one for one in (run.init_from, run.teacher) if one)
    own = run.model.checkpoint or run.model.vectors
    return bool(own) or any(map(_has_weights_of_others, before))


def history(record: StageResult, store: Store) -> tuple[StageResult, tuple[Step, ...]]:
    """The pretraining stage behind a network, and the continued pretraining after it, in order.

    Raises:
        ValueError: a stage in between is no longer in the store.
    """
    steps: list[Step] = []
    while record.kind == "continue_pretraining":
        spec = store.spec(record)
        steps.insert(0, _step(spec, record, store))
        start = store.find(spec["parents"]["init_from"])
        if start is None:
            raise ValueError(
                f"{record.key} continues from {spec['parents']['init_from']}, which is no longer "
                "in the store: run the experiment again"
            )
        record = start
    return record, tuple(steps)


def _step(spec: Mapping[str, Any], record: StageResult, store: Store) -> Step:
    tokens = store.find(spec["parents"]["tokens"])
    source = store.spec(tokens) if tokens else {}
    text = TEXT.validate_python(source["corpus"]) if source else None
    return Step(Pretrain.model_validate(spec["pretrain"]), text, source.get("task"), record.metrics)


def recorded_run(record: StageResult, store: Store) -> Pretrain:
    """The settings of a pretraining stage, with the corpus that its tokens were made from."""
    spec = store.spec(record)
    if "checkpoint" in spec:
        name, revision = spec["checkpoint"]["name"], spec["checkpoint"].get("revision")
        fields = {"checkpoint": str(name), "revision": revision and str(revision)}
        return resolve_pretrain(
            {"recipe": "checkpoint", "model": {"family": "checkpoint"} | fields}
        )
    tokens = store.find(spec["parents"]["tokens"])
    text = {"corpus": store.spec(tokens)["corpus"]} if tokens else {}
    return with_chosen_settings(
        Pretrain.model_validate({**spec["pretrain"], **text}), record, store
    )


def with_chosen_settings(run: Pretrain, record: StageResult, store: Store) -> Pretrain:
    """The settings of a pretraining stage with those that a search chose for it, if any.

    Raises:
        ValueError: the search is no longer in the store.
    """
    search = store.spec(record)["parents"].get(CHOSEN)
    if not search:
        return run
    if (found := store.find(search)) is None:
        raise ValueError(
            f"the pretraining settings were chosen by {search}, which is no longer in the store: "
            "run the experiment again"
        )
    return with_settings(run, json.loads((store.files(found) / BEST).read_text()))


def learned_vocab_size(record: StageResult, store: Store) -> int | None:
    """Entries that the tokenizer of a pretraining run has learned; null if they are not known."""
    tokenizer = store.find(store.spec(record)["parents"].get("tokenizer", ""))
    learned = tokenizer.metrics.get(VOCAB_SIZE) if tokenizer else None
    return int(learned) if learned else None
