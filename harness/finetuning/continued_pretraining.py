"""Continued pretraining between pretraining and fine-tuning, as an experiment declares it."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.data.corpora import CORPORA, with_named_fields
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    LocalCorpus,
    MicroworldCorpus,
    TaskCorpus,
)
from harness.models.checkpoints import files
from harness.models.checkpoints.objectives import representations
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import AnyObjective, Mixture, Objective
from harness.pretraining.objectives.outputs import WithGenerator
from harness.pretraining.recipes.pretrain import Pretrain

TEXTS: dict[str, Corpus | TaskCorpus] = {"task": TaskCorpus(), **CORPORA}
"""Name to corpus in a declaration of continued pretraining."""


def _by_name(what: str, known: Mapping[str, Any], value: Any) -> Any:
    if not isinstance(value, str):
        return as_tuples(value)
    if value not in known:
        raise ValueError(unknown_name(what, value, known))
    return known[value]


def _scope(value: Any) -> str:
    by_task = isinstance(value, Mapping) and "source" not in value
    return "by_task" if by_task else "for_all"


Text = Annotated[
    MicroworldCorpus | HubCorpus | LocalCorpus | TaskCorpus,
    Field(discriminator="source"),
    BeforeValidator(partial(_by_name, "the corpus", TEXTS)),
    BeforeValidator(with_named_fields),
]
"""A corpus or the text of the task itself, by value or name."""
NAMED_OBJECTIVE = BeforeValidator(partial(_by_name, "the objective", OBJECTIVES))


class ContinuedPretraining(ConfigModel):
    """Domain- or task-adaptive pretraining (Gururangan et al. 2020, sections 3 and 4).

    It starts from a pretrained model and keeps its vocabulary; null fields are as in the arm's
    pretraining, and the learning rate schedule restarts.
    """

    corpus: Annotated[
        Annotated[Text, Tag("for_all")] | Annotated[Mapping[str, Text], Tag("by_task")],
        Discriminator(_scope),
    ]
    """A corpus by value or name; `task`, the texts of the task's train set without its hold-out; or
    a mapping from each task to a corpus."""
    budget: Budget
    objective: Annotated[AnyObjective, NAMED_OBJECTIVE] | None = None
    """Objective by value or name; null: of the arm's pretraining."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Peak learning rate."""
    batch_size: int | None = Field(default=None, ge=1)
    """Full sequences per update; fewer if the text does not fill them."""
    warmup_fraction: float | None = Field(default=None, ge=0, le=1)
    """Share of warmup updates."""
    sequence_length: int | None = Field(default=None, ge=8)
    """Tokens of a full sequence; null: of the last phase."""

    def corpus_of(self, task: str) -> Corpus | TaskCorpus:
        """The corpus for `task`.

        Raises:
            KeyError: the mapping has no corpus for the task.
        """
        return self.corpus[task] if isinstance(self.corpus, Mapping) else self.corpus

    @property
    def by_task(self) -> bool:
        """Whether the model differs between tasks."""
        return isinstance(self.corpus, (Mapping, TaskCorpus))

    @property
    def label(self) -> str:
        """The set fields as text: `on microworld domain=biomed, budget tokens=20000`."""
        parts = [f"on {_texts_label(self.corpus)}", f"budget {_fields(self.budget)}"]
        if self.objective:
            parts.append(f"objective {objective_label(self.objective)}")
        rest = self.model_dump(exclude={"corpus", "budget", "objective"}, exclude_none=True)
        return ", ".join([*parts, *(f"{name} {value}" for name, value in rest.items())])

    def __hash__(self) -> int:  # `corpus` may be a mapping
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


def objective_label(objective: Objective | Mixture) -> str:
    """Name of the objective, or its fields if it has none."""
    known = (name for name, value in OBJECTIVES.items() if value == objective)
    return next(known, "") or _fields(objective)


def continued_run(run: Pretrain, step: ContinuedPretraining) -> Pretrain:
    """The run that continues `run` by `step`, without its corpus, which depends on the task.

    Raises:
        ValueError: the model of `run` does not support `step`.
    """
    rate = step.model_dump(exclude_none=True, include={"learning_rate"})
    warmup: dict[str, Any] = {}
    if step.warmup_fraction is not None:
        warmup = {"warmup_fraction": step.warmup_fraction, "warmup_steps": None}
    length = step.sequence_length or run.phases[-1].sequence_length
    alone = {"init_from": None, "teacher": None, "checkpoint_fractions": ()}
    changes: dict[str, Any] = {
        "objective": step.objective or without_distillation(run.objective),
        "budget": step.budget,
        "phases": (Phase(fraction=1.0, sequence_length=length),),
        "batch_size": step.batch_size or run.batch_size,
        "optimizer": run.optimizer.model_copy(update=rate),
        "schedule": run.schedule.model_copy(update=warmup),
        **alone,
    }
    fields = {name: getattr(run, name) for name in Pretrain.model_fields} | changes
    start = run.model_copy(update=alone)
    checkpoint = run.model.facts.kind == "checkpoint"
    found = Pretrain.model_validate(fields | ({} if checkpoint else {"init_from": start}))
    if checkpoint:
        _check_checkpoint(run, found, length)
    return found.model_copy(update={"init_from": None})


def without_distillation(objective: Objective | Mixture) -> Objective | Mixture:
    """The objective without the teacher."""
    if isinstance(objective, Mixture):
        return objective
    return objective.model_copy(update={"distillation": None})


def _check_checkpoint(run: Pretrain, found: Pretrain, length: int) -> None:
    """Raises ValueError for what an imported checkpoint does not support."""
    output = found.objectives[-1].output
    if isinstance(output, WithGenerator):
        raise ValueError(
            f"{output.kind} needs a generator, which a checkpoint does not have; give an objective "
            "that predicts tokens, such as mlm"
        )
    if found.budget.flops:
        raise ValueError(
            "the FLOPs of a checkpoint are unknown when planning; give its budget in tokens, steps "
            "or seconds"
        )
    if length > run.model.max_position:
        raise ValueError(
            f"sequence_length must be at most {run.model.max_position}, the positions of the "
            f"checkpoint, but is {length}"
        )
    folder = files.found(str(run.model.checkpoint), run.model.revision)
    # Missing files are reported by the check of all data.
    known = representations(folder) if folder and (folder / files.CONFIG).is_file() else ()
    for objective in found.objectives if known else ():
        if objective.representation not in known:
            raise ValueError(
                f"the checkpoint supports {', '.join(known)}, but objective.representation is "
                f"{objective.representation}"
            )
