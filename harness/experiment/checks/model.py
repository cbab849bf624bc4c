"""Checks of an arm's model, of an arm that is an external checkpoint, and of `pretrain.module`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core.config import unknown_name
from harness.data.tokenizers import json_file
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.models import FAMILY_FIELDS
from harness.models.checkpoints import files

KEYS = ("pretrain", "model", "checkpoint")
MODEL = "pretrain.model."


def problems(arm: Arm) -> Problems:
    """A field of another family, a checkpoint without a name or with a wrong revision, or a module
    that no plug-in defines. Files are not read."""
    yield from _fields_of_other_families(arm)
    model, module = arm.pretrain.model, arm.pretrain.module
    if model.facts.kind == "checkpoint" and not model.checkpoint:
        yield (
            ("pretrain", "recipe") if arm.pretrain.recipe == "checkpoint" else KEYS,
            "pretrain.model.checkpoint is required of the family checkpoint, but is not given; "
            "name a folder or an id on the Hub",
        )
    elif model.checkpoint and model.revision and files.is_folder(model.checkpoint):
        keys = ("pretrain", "model", "revision")
        yield keys, "pretrain.model.revision is for ids on the Hub, but checkpoint is a folder"
    if module is None:
        return
    from harness.pretraining.module import MODULES  # loads torch, as the plug-in does

    if module not in MODULES:
        known = MODULES or ["none: list its plug-in in plugins"]
        message = unknown_name("the module", module, known)
        yield ("pretrain", "module"), f"pretrain.module: {message}"


def _fields_of_other_families(arm: Arm) -> Problems:
    """Fields that the grid sets to their defaults in an arm whose family does not have them, so
    that it seems to differ in them; `Architecture` refuses other values."""
    family = arm.pretrain.model.family
    for path in arm.changes:
        name = path.removeprefix(MODEL)
        families = FAMILY_FIELDS.get(name, (family,)) if path.startswith(MODEL) else (family,)
        if family not in families:
            yield (
                ("pretrain", "model", name),
                f"{path} belongs to {', '.join(families)}, but the family of {arm.name!r} is "
                f"{family}; leave it out",
            )


def data_problems(arm: Arm) -> Problems:
    """Problems of the files, if they are local or cached."""
    model = arm.pretrain.model
    folder = files.found(str(model.checkpoint), model.revision)
    if folder is None:
        return
    if files.is_folder(str(model.checkpoint)) and (why := files.problem(folder)):
        yield KEYS, f"pretrain.model.checkpoint: {why}"
        return
    config = files.read_config(folder)
    yield from _token_problems(folder, config)
    most = files.positions(config)
    longest = arm.evaluate.protocol.max_sequence_length
    if longest > most:
        yield (
            ("evaluate", "protocol", "max_sequence_length"),
            f"evaluate.protocol.max_sequence_length must be at most {most:g}, the positions of "
            f"{model.checkpoint}, but is {longest}",
        )


def _token_problems(folder: Path, config: Mapping[str, Any]) -> Problems:
    """A tokenizer that cannot be read, and tokens without an embedding."""
    size, tokenizer = config.get("vocab_size"), folder / "tokenizer.json"
    if not isinstance(size, int) or not tokenizer.is_file():
        return
    try:
        largest = files.largest_token(tokenizer)
        json_file.read(tokenizer)
    except ValueError as error:
        yield KEYS, f"pretrain.model.checkpoint: {error}"
        return
    if largest >= size:
        yield (
            KEYS,
            f"pretrain.model.checkpoint: the tokenizer has a token of number {largest:,}, but the "
            f"network embeds {size:,}: they do not belong together",
        )
