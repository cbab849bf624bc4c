"""How a network came to be, as the store recorded it: a pretraining, and the runs that went on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from harness.data.corpora.sources import Corpus, TaskCorpus
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import StageResult, Store

KINDS = ("pretrain", "continue_pretraining")
"""Of stages that leave a network as it is before any task."""
Text = Corpus | TaskCorpus
TEXT: TypeAdapter[Text] = TypeAdapter(Text)


@dataclass(frozen=True)
class Step:
    """A run that went on from the network on other text (domain- or task-adaptive pretraining)."""

    run: Pretrain
    text: Text | None
    """Null where the store no longer knows it."""
    task: str | None
    """Whose texts they are, if they are a task's own."""
    metrics: Mapping[str, float]


def history(record: StageResult, store: Store) -> tuple[StageResult, tuple[Step, ...]]:
    """The pretraining that a network comes from, and what went on from it, in order.

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
                f"{record.key} goes on from {spec['parents']['init_from']}, which is no longer in "
                "the store: run the experiment again"
            )
        record = start
    return record, tuple(steps)


def _step(spec: Mapping[str, Any], record: StageResult, store: Store) -> Step:
    tokens = store.find(spec["parents"]["tokens"])
    told = store.spec(tokens) if tokens else {}
    text = TEXT.validate_python(told["corpus"]) if told else None
    return Step(Pretrain.model_validate(spec["pretrain"]), text, told.get("task"), record.metrics)


def recorded_run(record: StageResult, store: Store) -> Pretrain:
    """A pretraining as the store has it: network and training with the stage, text with its
    parent."""
    spec = store.spec(record)
    if "checkpoint" in spec:
        name, revision = spec["checkpoint"]["name"], spec["checkpoint"].get("revision")
        fields = {"checkpoint": str(name), "revision": revision and str(revision)}
        return resolve_pretrain(
            {"recipe": "checkpoint", "model": {"family": "checkpoint"} | fields}
        )
    tokens = store.find(spec["parents"]["tokens"])
    text = {"corpus": store.spec(tokens)["corpus"]} if tokens else {}
    return Pretrain.model_validate({**spec["pretrain"], **text})
