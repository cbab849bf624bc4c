"""Where a field is that a user looked for in the wrong place or under the name of another tool."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic.fields import FieldInfo

from harness.core.config import ConfigModel
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import ROLES
from harness.pretraining.recipes.pretrain import Pretrain

SYNONYMS = {
    "lr": "learning_rate",
    "mlm_probability": "mask_rate",
    "masking_rate": "mask_rate",
    "num_train_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "max_steps": "steps",
    "warmup_ratio": "warmup_fraction",
    "max_length": "max_sequence_length",
    "max_seq_length": "max_sequence_length",
    "adam_beta2": "beta2",
    "lr_scheduler_type": "schedule",
    "dropout_rate": "dropout",
}
"""Names in transformers and other trainers to names here."""


def field_hint(name: str, holder: str) -> str | None:
    """Dotted path of the field that `name` most likely means; null if none is likely.

    Args:
        holder: dotted path of the mapping in which `name` was given.
    """
    wanted = SYNONYMS.get(name, name)
    known = {".".join(path) for path in _paths(Experiment, ()) if path[-1] == wanted}
    known |= {".".join(path) for path in _paths(Pretrain, ("pretrain",)) if path[-1] == wanted}
    if f"{holder}.{name}" in known:
        return None  # a field of another kind of the same mapping
    inside = [path for path in known if path.startswith(f"{holder}.")]
    return min(inside or known, key=lambda path: (path.count("."), path), default=None)


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
