"""Pretraining that goes on between pretraining and fine-tuning, declared."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.data.corpora import CORPORA
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    TaskCorpus,
    TextCorpus,
)
from harness.models.checkpoints import files
from harness.models.checkpoints.objectives import representations
from harness.pretraining.budget import Budget
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import AnyObjective, Mixture, Objective
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.settings import Phase

TEXTS: dict[str, Corpus | TaskCorpus] = {"task": TaskCorpus(), **CORPORA}
"""What a name stands for where a run goes on."""


def _named_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in TEXTS:
        raise ValueError(unknown_name("the corpus", value, TEXTS))
    return TEXTS[value]


def _named_objective(value: Any) -> Any:
    if not isinstance(value, str):
        return as_tuples(value)
    if value not in OBJECTIVES:
        raise ValueError(unknown_name("the objective", value, OBJECTIVES))
    return OBJECTIVES[value]


def _spread(value: Any) -> str:
    by_task = isinstance(value, Mapping) and "source" not in value
    return "by_task" if by_task else "for_all"


Text = Annotated[
    MicroworldCorpus | HubCorpus | TextCorpus | JsonLinesCorpus | TaskCorpus,
    Field(discriminator="source"),
    BeforeValidator(_named_text),
]
"""A corpus or the text of the task at hand, by value or by name."""


class ContinuedPretraining(ConfigModel):
    """A run that goes on from a pretrained model on other text: domain- or task-adaptive
    pretraining (Gururangan et al. 2020, sections 3 and 4). It keeps the vocabulary; what is null is
    as in the pretraining of the arm, and the learning rate warms up and decays anew."""

    corpus: Annotated[
        Annotated[Text, Tag("for_all")] | Annotated[Mapping[str, Text], Tag("by_task")],
        Discriminator(_spread),
    ]
    """A corpus by value or name; `task`, the text of the task's own train set without labels and
    hold-out; or a corpus for each task by its name."""
    budget: Budget
    objective: Annotated[AnyObjective, BeforeValidator(_named_objective)] | None = None
    """Another objective than that of the run before, by value or name."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Peak."""
    batch_size: int | None = Field(default=None, ge=1)
    """Full sequences per update; fewer where the text is too small for them."""
    warmup_fraction: float | None = Field(default=None, ge=0, le=1)
    """Share of the updates spent in warmup."""
    sequence_length: int | None = Field(default=None, ge=8)
    """Tokens of a full sequence; null takes the length of the last phase."""

    def corpus_of(self, task: str) -> Corpus | TaskCorpus:
        """The text that the run reads before `task`.

        Raises:
            KeyError: texts are given by task, and none for this one.
        """
        return self.corpus[task] if isinstance(self.corpus, Mapping) else self.corpus

    @property
    def by_task(self) -> bool:
        """Whether each task has a model of its own after it."""
        return isinstance(self.corpus, (Mapping, TaskCorpus))

    @property
    def label(self) -> str:
        """What is set, in words: `on microworld domain=biomed, budget tokens=20000`."""
        parts = [f"on {_texts_label(self.corpus)}", f"budget {_fields(self.budget)}"]
        if self.objective:
            parts.append(f"objective {_objective_label(self.objective)}")
        rest = self.model_dump(exclude={"corpus", "budget", "objective"}, exclude_none=True)
        return ", ".join([*parts, *(f"{name} {value}" for name, value in rest.items())])

    def __hash__(self) -> int:  # texts may be given by a mapping
        return hash(self.model_dump_json())


def _fields(value: ConfigModel) -> str:
    fields = value.model_dump(exclude={"source"}, exclude_defaults=True)
    return " ".join(f"{name}={_short(value)}" for name, value in fields.items())


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text_label(text: Corpus | TaskCorpus) -> str:
    return " ".join(filter(None, (text.source, _fields(text))))


def _texts_label(corpus: Corpus | TaskCorpus | Mapping[str, Corpus | TaskCorpus]) -> str:
    if not isinstance(corpus, Mapping):
        return _text_label(corpus)
    tasks: dict[str, list[str]] = {}
    for task, text in corpus.items():
        tasks.setdefault(_text_label(text), []).append(task)
    return "; ".join(f"{text} before {' and '.join(names)}" for text, names in tasks.items())


def _objective_label(objective: Objective | Mixture) -> str:
    """Its name where it has one."""
    known = (name for name, value in OBJECTIVES.items() if value == objective)
    return next(known, "") or _fields(objective)


def continued_run(run: Pretrain, step: ContinuedPretraining) -> Pretrain:
    """The run that goes on from `run` by `step`; its corpus, which depends on the task, is not set.

    Raises:
        ValueError: it cannot go on so.
    """
    told = step.model_dump(exclude_none=True, include={"learning_rate"})
    warmup = {"warmup_fraction": step.warmup_fraction, "warmup_steps": None}
    length = step.sequence_length or run.phases[-1].sequence_length
    changes: dict[str, Any] = {
        "objective": step.objective or without_distillation(run.objective),
        "budget": step.budget,
        "phases": (Phase(fraction=1.0, sequence_length=length),),
        "batch_size": step.batch_size or run.batch_size,
        "optimizer": run.optimizer.model_copy(update=told),
        "schedule": run.schedule.model_copy(
            update=warmup if step.warmup_fraction is not None else {}
        ),
        "checkpoint_fractions": (),
        "init_from": None,
        "teacher": None,
    }
    fields = {name: getattr(run, name) for name in Pretrain.model_fields} | changes
    start = run.model_copy(update={"init_from": None, "teacher": None, "checkpoint_fractions": ()})
    checkpoint = run.model.facts.kind == "checkpoint"
    found = Pretrain.model_validate(fields | ({} if checkpoint else {"init_from": start}))
    if checkpoint:
        _check_checkpoint(run, found, length)
    return found.model_copy(update={"init_from": None})


def without_distillation(objective: Objective | Mixture) -> Objective | Mixture:
    """The objective without a teacher, who stays behind."""
    if isinstance(objective, Mixture):
        return objective
    return objective.model_copy(update={"distillation": None})


def _check_checkpoint(run: Pretrain, found: Pretrain, length: int) -> None:
    """Of someone else's network there are fewer ways to go on than of our own."""
    if found.objectives[-1].output.kind == "replaced_token":
        raise ValueError(
            "replaced_token needs a generator, which a checkpoint does not bring; give an "
            "objective that predicts tokens, such as mlm"
        )
    if found.budget.flops:
        raise ValueError(
            "a checkpoint has no FLOPs that are known when planning; give its budget in tokens, "
            "steps or seconds"
        )
    if length > run.model.max_position:
        raise ValueError(
            f"sequence_length must be at most {run.model.max_position}, the positions of the "
            f"checkpoint, but is {length}"
        )
    folder = files.found(str(run.model.checkpoint), run.model.revision)
    # Files that are missing are told where all data is looked for.
    is_there = folder is not None and (folder / files.CONFIG).is_file()
    known = representations(folder) if folder and is_there else ()
    for objective in found.objectives if known else ():
        if objective.representation not in known:
            raise ValueError(
                f"the checkpoint can be read {', '.join(known)}, but objective.representation is "
                f"{objective.representation}"
            )
