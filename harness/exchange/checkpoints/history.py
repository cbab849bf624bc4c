"""The training history of a network in the store: pretraining, then continued pretraining."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from harness.data.corpora.sources import Corpus, TaskCorpus
from harness.experiment.named_values import resolve_pretrain
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import StageResult, Store

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
    return Pretrain.model_validate({**spec["pretrain"], **text})
