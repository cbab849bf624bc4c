"""Where a field is that a user looked for in the wrong place or under the name of another tool."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args

from pydantic.fields import FieldInfo

from harness.core.config import ConfigModel
from harness.core.synonyms import SYNONYMS
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import ROLES
from harness.finetuning.protocol import Finetune
from harness.pretraining.recipes.pretrain import Pretrain

OF_PRETRAINING = {"layers": "num_layers", "heads": "num_heads", "epochs": "budget"}
"""Names that are fields of the evaluation to what they mean below `pretrain`."""
SIDES = ("pretrain.objective.distillation", "evaluate.protocol.perturb", "evaluate.suite")
"""Mappings of special purposes, besides those that an experiment leaves out by default: a field
below them is meant only where no other one has the name."""


def field_hint(name: str, holder: str) -> str | None:
    """Where the field is that `name` most likely means: a dotted path, or one of pretraining `or`
    one of the evaluation; null if none is likely.

    Args:
        holder: dotted path of the mapping in which `name` was given.
    """
    wanted = SYNONYMS.get(name, name)
    if holder == "sweep" and wanted in Finetune.model_fields:
        return f"sweep.space.{wanted}"
    if holder.startswith("pretrain"):
        wanted = OF_PRETRAINING.get(wanted, wanted)
    known = {".".join(path) for path in _paths(Experiment, ()) if path[-1] == wanted}
    known |= {".".join(path) for path in _paths(Pretrain, ("pretrain",)) if path[-1] == wanted}
    if holder in known or f"{holder}.{name}" in known:
        return None  # the mapping itself, or a field of another kind of it
    ranked = sorted(known, key=lambda path: (*_distance(path, holder), path))
    nearest = [path for path in ranked if _distance(path, holder) == _distance(ranked[0], holder)]
    rooms = {path.split(".")[0]: path for path in reversed(nearest)}
    return " or ".join(sorted(rooms.values(), reverse=True)) or None


def _distance(path: str, holder: str) -> tuple[bool, bool, bool, int]:
    """How far a field lies from a mapping: outside it, in another part of the experiment, in a
    mapping of a special purpose, and how deep."""
    room = holder.split(".")[0]
    return (
        not path.startswith(f"{holder}."),
        room in ("pretrain", "evaluate") and not path.startswith(f"{room}."),
        path.startswith((*SIDES, *_optional())),
        path.count("."),
    )


@cache
def _optional() -> tuple[str, ...]:
    """The mappings of `evaluate` that are absent by default, such as continued pretraining."""
    fields = Evaluate.model_fields.items()
    return tuple(f"evaluate.{name}." for name, field in fields if not field.default)


def _paths(model: type[ConfigModel], above: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Path of every field below a model, outside nested runs."""
    for name, field in model.model_fields.items():
        yield (*above, name)
        if name not in ROLES:
            for inner in models_of(field):
                yield from _paths(inner, (*above, name))


def models_of(annotation: Any) -> list[type[ConfigModel]]:
    """The config classes in the type of a field, at any depth."""
    if isinstance(annotation, FieldInfo):
        annotation = annotation.annotation
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        return [annotation] if annotation.model_fields else _descendants(annotation)
    return [model for part in get_args(annotation) for model in models_of(part)]


def _descendants(model: type[ConfigModel]) -> list[type[ConfigModel]]:
    """All subclasses of a base without fields, such as `Transform`."""
    return [m for child in model.__subclasses__() for m in (child, *_descendants(child))]
